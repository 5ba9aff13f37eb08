"""Fuzzing: damaged bytes, manifests, numbers and arguments for all functions that read them.

A case is right if it ends well or with an error of discreet's own. ``make fuzz`` plays many cases, ``make test`` a
fixed number of them.
"""
