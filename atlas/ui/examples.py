"""Built-in sentences: a pronoun, an adjective that changes sides, negation, an idiom, address, a fox."""

from __future__ import annotations

EXAMPLES = (
    "The cat sat on the chair because it was tired.",
    "The animal didn't cross the street because it was too tired.",
    "She bought a small red car yesterday.",
    "I don't know what you want.",
    "It's raining cats and dogs.",
    "Could you tell me where the station is?",
    "I love 🦊 and you.",
)

FIRST = EXAMPLES[0]
"""What a first visit shows."""
