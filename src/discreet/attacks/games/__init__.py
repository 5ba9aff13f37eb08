"""The games: pairs of neighboring datasets, and what an attacker sees of a model fitted to one of them."""
