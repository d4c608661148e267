"""The parts of the Masks & cost page."""
