"""Where heads look from pronouns: against loops over tokens, and where the answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from atlas.analysis import pronouns
from atlas.analysis.antecedents import Example, find_example
from atlas.analysis.passes import forced_pass
from atlas.analysis.pronouns import Looks, PronounsError
from atlas.text.tokenizer import Tokenizer
from tests.conftest import tiny_model

SENTENCES = (
    "We waited for the bus, but it was full.",
    "Every morning a black dog eats its bread.",
    "Tom was too tired, so he reads a book.",
    "The prince asked the little girl why she ran away.",
    "Two boys in red love their dog.",
)


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    found = [find_example(sentence) for sentence in SENTENCES]
    assert all(found)
    return [example for example in found if example is not None]


def by_hand(model, tokenizer: Tokenizer, example: Example) -> np.ndarray:
    """(L, H, W, W) with plain loops: offsets from the spelling of the pieces, sums over keys, means over
    queries."""
    ids = tokenizer.source(example.sentence)
    taken = forced_pass(model, ids, [], wanted=("weights",))
    owner: list[int | None] = []  # a lone space belongs to no word
    place = -1  # one virtual space stands before the text
    for token in ids[:-1]:
        spelt = tokenizer.piece(token).replace("Ġ", " ")
        middle = place + len(spelt) / 2 + 0.5
        inside = [i for i, (start, end) in enumerate(example.spans) if start <= middle <= end]
        owner.append(inside[0] if spelt.strip() else None)
        place += len(spelt)
    layers, heads = model.config.encoder_layers, model.config.heads
    words = len(example.spans)
    merged = np.zeros((layers, heads, words, words))
    for layer in range(layers):
        weights = taken[f"encoder.{layer}.self.weights"]
        for q, query_word in enumerate(owner):
            for k, key_word in enumerate(owner):
                if query_word is not None and key_word is not None:
                    merged[layer, :, query_word, key_word] += weights[:, q, k] / owner.count(query_word)
    return merged


def test_words_look_as_their_pieces_do(tokenizer: Tokenizer, examples: list[Example]) -> None:
    model = tiny_model(tokenizer)
    for example in examples:
        assert len(tokenizer.source(example.sentence)) > len(example.spans) + 1, "some word has two pieces"
        found = pronouns.word_attention(model, tokenizer, example)
        np.testing.assert_allclose(found, by_hand(model, tokenizer, example), atol=1e-6)
        assert (found.sum(-1) < 1 + 1e-5).all()


def uniform_but(example: Example, **cells: float) -> np.ndarray:
    """One head that gives every word the same, but for some cells ``q_k``."""
    words = len(example.spans)
    weights = np.full((1, 1, words, words), 1 / words)
    for name, value in cells.items():
        query, key = (int(part) for part in name.strip("_").split("_"))
        weights[0, 0, query, key] = value
    return weights


def test_a_head_that_looks_at_the_noun(examples: list[Example]) -> None:
    example = examples[0]
    weights = uniform_but(example, **{f"_{example.at}_{example.antecedent}": 0.5})
    found = {name: float(value[0, 0]) for name, value in pronouns.looks_of(weights, example).items()}
    even = 1 / len(example.spans)
    assert found == pytest.approx(
        {
            "weight": 0.5,
            "content": even,
            "distance": even,
            "beyond": 0.5 - even,
            "top": 1.0,
            "others": 0.0,
            "special": 1.0,
        }
    )


def test_a_head_that_looks_so_far_back_from_every_word_has_no_merit(examples: list[Example]) -> None:
    example = examples[0]
    cells = {f"_{q}_{q - example.distance}": 0.7 for q in range(example.distance, len(example.spans))}
    found = pronouns.looks_of(uniform_but(example, **cells), example)
    assert found["top"][0, 0] == 1.0
    assert found["weight"][0, 0] == pytest.approx(0.7)
    assert found["beyond"][0, 0] == pytest.approx(0.0)


def test_a_noun_that_every_word_looks_at_is_not_special(examples: list[Example]) -> None:
    example = examples[0]
    cells = {f"_{q}_{example.antecedent}": 0.7 for q in range(len(example.spans))}
    found = pronouns.looks_of(uniform_but(example, **cells), example)
    assert (found["top"], found["others"], found["special"]) == (1.0, 1.0, 0.0)


def test_only_words_before_are_rivals(examples: list[Example]) -> None:
    example = examples[0]
    cells = {f"_{example.at}_{example.antecedent}": 0.3, f"_{example.at}_{example.at + 1}": 0.6}
    assert pronouns.looks_of(uniform_but(example, **cells), example)["top"] == 1.0
    cells[f"_{example.at}_{example.antecedent - 1}"] = 0.31
    assert pronouns.looks_of(uniform_but(example, **cells), example)["top"] == 0.0


def test_a_tie_is_no_look(examples: list[Example]) -> None:
    assert pronouns.looks_of(uniform_but(examples[0]), examples[0])["top"] == 0.0


def test_the_mean_and_its_interval() -> None:
    values = np.random.default_rng(5).normal(3.0, 2.0, (400, 2))
    values[:, 1] = values[:, 0]
    values[::2, 1] = np.nan
    mean, low, high = pronouns.mean_and_interval(values)
    np.testing.assert_allclose(mean, np.nanmean(values, axis=0))
    error = np.nanstd(values, axis=0) / np.sqrt([400, 200])
    np.testing.assert_allclose(high - mean, 1.96 * error, rtol=0.12)
    np.testing.assert_allclose(mean - low, 1.96 * error, rtol=0.12)
    nothing = pronouns.mean_and_interval(np.full((3, 1), np.nan))
    assert all(math.isnan(float(one[0])) for one in nothing)


def test_the_picked_head_is_judged_on_sentences_that_did_not_choose_it() -> None:
    top = np.zeros((40, 2, 2))
    top[::2, 1, 0] = 1.0  # only where it is chosen
    top[1::2, 0, 1] = 1.0  # only where it is judged
    looks = Looks({"top": top, "special": top})
    picked = pronouns.picked_head(looks)
    assert (picked["layer"], picked["head"]) == (1, 0)
    assert (picked["chosen_on"], picked["judged_on"]) == (20, 20)
    assert picked["top"] == picked["top_low"] == picked["top_high"] == 0.0


def test_the_measurement(tokenizer: Tokenizer, examples: list[Example]) -> None:
    model = tiny_model(tokenizer)
    seen: list[tuple[int, int]] = []
    trained = pronouns.look(model, tokenizer, examples, lambda done, total: seen.append((done, total)))
    assert seen == [(n, len(examples)) for n in range(1, len(examples) + 1)]
    random = pronouns.look(pronouns.untrained(model), tokenizer, examples)
    facts, arrays = pronouns.summarise(examples, ["A", "A", "B", "B", "B"], trained, random)
    assert facts["groups"] == ["all", "it", "he", "she", "they", "A", "B"]
    assert facts["counts"] == [5, 2, 1, 1, 1, 2, 3]
    assert facts["chance"][0] == pytest.approx(np.mean([1 / example.earlier for example in examples]))
    assert facts["distances"][3] == examples[3].distance
    shape = (7, model.config.encoder_layers, model.config.heads)
    intervals = {f"{name}_{end}" for name in pronouns.WITH_INTERVAL for end in ("low", "high")}
    controls = {f"untrained_{name}" for name in pronouns.WITH_INTERVAL}
    assert set(arrays) == set(pronouns.MEASURES) | intervals | controls
    assert {(array.shape, array.dtype.name) for array in arrays.values()} == {(shape, "float32")}
    for layer in range(shape[1]):
        for head in range(shape[2]):
            weights = [by_hand(model, tokenizer, e)[layer, head, e.at, e.antecedent] for e in examples]
            assert arrays["weight"][0, layer, head] == pytest.approx(np.mean(weights), abs=1e-6)
            assert arrays["weight"][6, layer, head] == pytest.approx(np.mean(weights[2:]), abs=1e-6)
            assert (
                arrays["weight_low"][0, layer, head]
                <= arrays["weight"][0, layer, head]
                <= arrays["weight_high"][0, layer, head]
            )
    np.testing.assert_allclose(arrays["special"], arrays["top"] - arrays["others"], atol=1e-6)


def test_the_untrained_model_follows_from_its_seed_and_leaves_the_generator_alone(
    tokenizer: Tokenizer,
) -> None:
    import torch

    model = tiny_model(tokenizer, seed=3)
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    one, other = pronouns.untrained(model), pronouns.untrained(model)
    assert torch.equal(torch.rand(1), expected)
    weights = [m.encoder[0].self_attention.output.weight for m in (one, other, model)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_nothing_to_measure_is_said(tokenizer: Tokenizer) -> None:
    with pytest.raises(PronounsError, match="no sentence has a pronoun"):
        pronouns.look(tiny_model(tokenizer), tokenizer, [])
