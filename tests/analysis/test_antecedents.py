"""The rule that finds a pronoun's only possible noun, sentence by sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.analysis.antecedents import find_example


def told(sentence: str) -> tuple[str, str, str] | None:
    """Pronoun, its word, and the antecedent's word."""
    example = find_example(sentence)
    if example is None:
        return None
    words = [sentence[start:end] for start, end in example.spans]
    return example.pronoun, words[example.at], words[example.antecedent]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("We waited for the bus, but it was full.", ("it", "it", "bus")),
        ("Yesterday a big black dog lost its ball.", ("it", "its", "dog")),
        ("The electricity went out, but it's back now.", ("it", "it's", "electricity")),
        ("The electricity went out, but it’s back now.", ("it", "it’s", "electricity")),
        ("Tom has some food, so he must eat.", ("he", "he", "Tom")),
        ("The prince asked the little girl why she was crying.", ("she", "she", "girl")),
        ("I think that the doctor likes his job.", ("he", "his", "doctor")),
        ("Two young boys in red play with their ball.", ("they", "their", "boys")),
        ("We looked at these red cars because they were new.", ("they", "they", "cars")),
        ("Six people applied, but none of them came.", ("they", "them", "people")),
    ],
)
def test_the_only_noun_is_found(sentence: str, expected: tuple[str, str, str]) -> None:
    assert told(sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("The cat sat on the chair because it was tired.", "two candidates"),
        ("Tom told Jack that he was late.", "two names"),
        ("The tennis ball is mine and it is new.", "a phrase that is not understood"),
        ("I know that it is raining.", "a dummy pronoun"),
        ("In the summer it is hard to work.", "a dummy pronoun"),
        ("When I was in the park it seemed empty.", "a dummy pronoun"),
        ("It was the bus.", "nothing before"),
        ("The bus stopped when they came.", "no plural"),
        ("My sister said he was late.", "no man"),
        ("The bus, it stopped.", "too few other words"),
        ("I like tea.", "no pronoun"),
        ("It is my dog and he likes its bone.", "the first pronoun decides"),
        ("", "no word"),
    ],
)
def test_sentences_without_a_clear_noun_are_left_out(sentence: str, why: str) -> None:
    assert told(sentence) is None, why


def test_what_an_example_knows() -> None:
    sentence = "Yesterday, we waited for the old bus, but it was full."
    example = find_example(sentence)
    assert example is not None
    words = [sentence[start:end] for start, end in example.spans]
    assert [words[n] for n in example.content] == ["Yesterday", "waited", "old"]
    assert [words[n] for n in example.words] == [
        "Yesterday", "we", "waited", "for", "the", "old", "bus", "but", "it", "was", "full",
    ]  # fmt: skip
    assert example.earlier == 8
    assert example.distance == example.at - example.antecedent == 3


WORDS = st.sampled_from(
    ["the", "a", "it", "he", "they", "Tom", "dog", "bus", "boys", ",", ".", "red", "quickly", "saw"]
    + ["because", "of", "its", "!"]
)


@given(st.lists(WORDS, max_size=14))
def test_every_example_keeps_the_rule(words: list[str]) -> None:
    sentence = " ".join(words)
    example = find_example(sentence)
    if example is None:
        return
    read = [sentence[start:end] for start, end in example.spans]
    assert example.antecedent < example.at
    assert read[example.antecedent] in {"Tom", "dog", "bus", "boys", "red", "quickly"}
    assert example.earlier >= 3
    assert example.antecedent not in example.content
    assert all(n < example.at for n in example.content)
    assert set(example.content) <= set(example.words)
