"""The parts of the Architecture page."""
