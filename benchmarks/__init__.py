"""Benchmarks: each prints one table of ratios against a peer in the same run."""
