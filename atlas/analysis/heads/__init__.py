"""What every head of a model does, over a corpus."""
