"""Numbers about models and traces: head metrics, position encodings, differences between sentences."""
