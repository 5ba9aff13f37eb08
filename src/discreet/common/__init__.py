"""Helpers that several packages share; they do not depend on records or privacy."""
