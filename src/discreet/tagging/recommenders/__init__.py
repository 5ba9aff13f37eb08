"""Recommenders of tags."""
