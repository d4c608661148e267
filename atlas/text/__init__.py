"""Text in, ids out, and back: tokenizer, corpora, batches, uploaded files."""
