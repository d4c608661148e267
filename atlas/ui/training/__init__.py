"""The parts of the Training page: what learning minimises, how it went, and what it left in the model."""
