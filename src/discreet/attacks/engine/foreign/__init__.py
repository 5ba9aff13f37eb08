"""Models of other libraries, and classes written elsewhere, behind the interface that the games use."""
