"""Talk mode: the pages on a projector, driven by a clicker; and tours, which play views in order."""
