"""The engine of an audit: targets, runs in several processes, bounds, verdicts and reports."""
