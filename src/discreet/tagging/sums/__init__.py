"""Sums about tags, with what one user, one post or one assignment can change."""
