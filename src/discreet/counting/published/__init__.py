"""Counting methods of papers: corrected where their proofs fail, and as published for comparison."""
