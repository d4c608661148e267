"""The parts of the Attention page: what is chosen, the panels, and what can be taken away."""
