"""The root of every error that a user may see."""


class AtlasError(ValueError):
    """Wrong input, said in one clear line: what was wrong, where, and what would be right."""
