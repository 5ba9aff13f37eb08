"""PriTop, as published and refuted."""
