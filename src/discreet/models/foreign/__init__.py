"""Models of other libraries, and classes written elsewhere, behind the interface of evaluations, attacks and audits."""
