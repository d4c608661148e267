"""Built-in sentences: each shows something."""

from __future__ import annotations

EXAMPLES: tuple[tuple[str, str], ...] = (
    ("What does “it” look at?", "The animal didn't cross the street because it was too tired."),
    ("Adjectives change sides", "She bought a small red car yesterday."),
    ("Negation in two words", "I don't know what you want."),
    ("A phrase that is no word-for-word copy", "It's raining cats and dogs."),
    ("Formal or familiar “you”?", "Could you tell me where the station is?"),
    ("A character the model never saw", "I love 🦊 and you."),
)
"""What to watch for, and the sentence."""

FIRST = EXAMPLES[0][1]
"""What a first visit shows."""
