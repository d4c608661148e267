"""Decoding step by step with a cache is the full pass, whatever happens to its rows."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from atlas.model import Cache, Recorder, Transformer
from atlas.text.batches import pad
from tests.model.reference import VOCABULARY, small_model

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4}
sentences = st.lists(st.lists(st.integers(3, VOCABULARY - 1), min_size=0, max_size=6), min_size=1, max_size=4)


@cache
def model_of(dtype: torch.dtype, norm: str) -> Transformer:
    return small_model(dtype=dtype, norm=norm).requires_grad_(False)


models = st.builds(model_of, st.sampled_from(list(TOLERANCE)), st.sampled_from(["post", "pre"]))


def begun(model: Transformer, sources: list[list[int]], capacity: int = 4) -> tuple[Tensor, Tensor, Cache]:
    """The encoder's output, its mask, and an empty cache."""
    source = pad([[*ids, 2] for ids in sources])
    mask = source != 0
    memory = model.encode(source, mask)
    return memory, mask, model.start(memory, mask, capacity=capacity)


def full(model: Transformer, memory: Tensor, mask: Tensor, rows: Tensor) -> Tensor:
    """Log-probabilities ``(rows, T, V)`` without a cache; as many rows for each sentence."""
    beams = len(rows) // len(memory)
    read = model.decode(rows, memory.repeat_interleave(beams, 0), mask.repeat_interleave(beams, 0))
    return model.logits(read).log_softmax(-1)


@pytest.mark.case("M2")
@settings(max_examples=40, deadline=None)
@given(models, sentences, st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(1, 8), st.data())
def test_prefill_and_steps_equal_the_full_pass(model, sources, chunks, capacity, data):
    memory, mask, state = begun(model, sources, capacity)
    length = sum(chunks)
    numbers = st.lists(st.integers(3, VOCABULARY - 1), min_size=length - 1, max_size=length - 1)
    target = torch.tensor([[1, *data.draw(numbers)] for _ in sources])
    expected = full(model, memory, mask, target)
    done = 0
    for chunk in chunks:
        found = model.step(target[:, done : done + chunk], state).log_softmax(-1)
        done += chunk
        assert (found - expected[:, done - 1]).abs().max() < TOLERANCE[memory.dtype]
    assert state.length == done and state.capacity >= done


@pytest.mark.case("B3")
@settings(max_examples=40, deadline=None)
@given(models, sentences, st.integers(1, 4), st.integers(1, 3), st.data())
def test_every_row_goes_on_from_the_row_that_it_was(model, sources, beams, capacity, data):
    """Steps, reorderings and dropped sentences in any order: each row, element by element, is the full
    pass over its own tokens.
    """
    memory, mask, state = begun(model, sources, capacity)
    rows = [[1] for _ in sources]
    found = model.step(torch.tensor(rows), state)
    state.expand(beams)
    rows = [row for row in rows for _ in range(beams)]
    found = found.repeat_interleave(beams, 0)
    tokens = st.integers(3, VOCABULARY - 1)
    for what in data.draw(st.lists(st.sampled_from(["step", "reorder", "keep"]), max_size=8)):
        count = len(rows) // beams
        if what == "step":
            new = [[data.draw(tokens)] for _ in rows]
            rows = [row + more for row, more in zip(rows, new, strict=True)]
            found = model.step(torch.tensor(new), state)
        elif what == "reorder":
            picks = [
                place * beams + data.draw(st.integers(0, beams - 1))
                for place in range(count)
                for _ in range(beams)
            ]
            state.reorder(torch.tensor(picks))
            rows, found = [rows[pick] for pick in picks], found[picks]
        else:
            staying = data.draw(
                st.lists(st.integers(0, count - 1), min_size=1, max_size=count, unique=True).map(sorted)
            )
            state.keep(torch.tensor(staying))
            memory, mask = memory[staying], mask[staying]
            picks = [place * beams + row for place in staying for row in range(beams)]
            rows, found = [rows[pick] for pick in picks], found[picks]
    last = [[data.draw(tokens)] for _ in rows]
    rows = [row + more for row, more in zip(rows, last, strict=True)]
    expected = full(model, memory, mask, torch.tensor(rows))
    assert (found.log_softmax(-1) - expected[:, -2]).abs().max() < TOLERANCE[memory.dtype]
    found = model.step(torch.tensor(last), state).log_softmax(-1)
    assert (found - expected[:, -1]).abs().max() < TOLERANCE[memory.dtype]
    assert state.beams == beams and state.length == len(rows[0])


@pytest.mark.case("B3")
def test_a_cache_left_in_place_would_be_seen():
    """The mistake that the test above guards against: rows change places, their keys do not."""
    model = model_of(torch.float64, "pre")
    memory, mask, state = begun(model, [[5, 6]])
    model.step(torch.tensor([[1]]), state)
    state.expand(2)
    model.step(torch.tensor([[7], [8]]), state)
    wrong = model.step(torch.tensor([[9], [9]]), state).log_softmax(-1)
    expected = full(model, memory, mask, torch.tensor([[1, 8, 9], [1, 7, 9]]))[:, -1]
    assert (wrong - expected).abs().max() > 1e-3
    assert (wrong.sum() - expected.sum()).abs() < 1e-9, "a sum over the rows hides it"


@pytest.mark.parametrize("beams", [1, 3])
def test_several_tokens_for_several_beams(beams):
    model = model_of(torch.float64, "post")
    memory, mask, state = begun(model, [[5, 6, 7], [8]], capacity=1)
    state.expand(beams)
    generator = torch.Generator().manual_seed(1)
    target = torch.randint(3, VOCABULARY, (2 * beams, 9), generator=generator)
    expected = full(model, memory, mask, target)
    for first, last in ((0, 4), (4, 5), (5, 9)):
        found = model.step(target[:, first:last], state).log_softmax(-1)
        assert (found - expected[:, last - 1]).abs().max() < 1e-9


def test_what_a_step_records_is_the_full_pass_row_by_row():
    model = model_of(torch.float64, "pre")
    memory, mask, state = begun(model, [[5, 6, 7], [8]], capacity=2)
    target = torch.tensor([[1, 4, 9, 4, 6], [1, 3, 3, 3, 8]])
    whole = Recorder()
    model.decode(target, memory, mask, whole)
    layers = model.config.decoder_layers
    for place in range(target.shape[1]):
        part = Recorder()
        model.step(target[:, place : place + 1], state, part)
        for layer in range(layers):
            for block, keys in (("self", place + 1), ("cross", memory.shape[1])):
                for what in ("weights", "scores"):
                    name = f"decoder.{layer}.{block}.{what}"
                    assert part[name].shape == (2, 2, 1, keys)
                    expected = whole[name][:, :, place : place + 1, :keys]
                    assert torch.allclose(part[name], expected, rtol=0, atol=1e-9), name
            name = f"decoder.{layer}.ffn.residual"
            assert torch.allclose(part[name], whole[name][:, place : place + 1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("beams", [2, 5])
def test_beams_ask_the_source_as_more_queries_of_one_sentence(beams):
    """Recorded cross-attention has the beams of a sentence as its query axis: ``(B, H, beams, S)``."""
    model = model_of(torch.float64, "pre")
    memory, mask, state = begun(model, [[5, 6, 7], [8]])
    model.step(torch.tensor([[1], [1]]), state)
    state.expand(beams)
    tokens = torch.arange(3, 3 + 2 * beams).unsqueeze(1)
    recorder = Recorder(("weights",))
    model.step(tokens, state, recorder)
    rows = torch.cat([torch.ones_like(tokens), tokens], 1)
    whole = Recorder(("weights",))
    model.decode(rows, memory.repeat_interleave(beams, 0), mask.repeat_interleave(beams, 0), whole)
    for layer in range(model.config.decoder_layers):
        found = recorder[f"decoder.{layer}.cross.weights"]
        expected = whole[f"decoder.{layer}.cross.weights"][:, :, 1].unflatten(0, (2, beams)).transpose(1, 2)
        assert found.shape == (2, 2, beams, 4)
        assert torch.allclose(found, expected, rtol=0, atol=1e-9)


def test_growing_keeps_what_was_read_and_makes_room_ahead():
    model = model_of(torch.float64, "pre")
    _, _, state = begun(model, [[5]], capacity=2)
    model.step(torch.tensor([[1, 4]]), state)
    before = [(layer.keys.clone(), layer.values.clone()) for layer in state.layers]
    state.ensure(2)
    assert state.capacity == 2
    state.ensure(3)
    assert state.capacity == 4
    for (keys, values), layer in zip(before, state.layers, strict=True):
        assert torch.equal(layer.keys[:, :, :2], keys) and torch.equal(layer.values[:, :, :2], values)
    state.ensure(11)
    assert state.capacity == 11
