"""Teaching a Transformer to translate: configuration, loss, schedule, loop, evaluation."""
