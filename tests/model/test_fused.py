"""The fused decoder says what the model says, whatever happens to its rows, and shows the same."""

from __future__ import annotations

import gc
import weakref
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from atlas.model import Recorder, Transformer
from atlas.model import tree_cache as trees
from atlas.model.fused import FusedDecoder
from atlas.model.transformer import TooLongError
from atlas.text.batches import pad
from tests.model.reference import VOCABULARY, small_model

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4}
SHAPES = (
    {"norm": "pre"},
    {"norm": "post"},
    {"norm": "post", "activation": "gelu", "tied": False, "positions": "learned"},
    {"norm": "pre", "positions": "none", "heads": 4, "decoder_layers": 1},
)
sentences = st.lists(st.lists(st.integers(3, VOCABULARY - 1), min_size=0, max_size=6), min_size=1, max_size=4)
tokens = st.integers(3, VOCABULARY - 1)


@cache
def model_of(dtype: torch.dtype, shape: int) -> Transformer:
    return small_model(dtype=dtype, **SHAPES[shape]).requires_grad_(False)


models = st.builds(model_of, st.sampled_from(list(TOLERANCE)), st.integers(0, len(SHAPES) - 1))


def padded(sources: list[list[int]]) -> tuple[Tensor, Tensor]:
    source = pad([[*ids, 2] for ids in sources])
    return source, source != 0


def full(model: Transformer, sources: list[list[int]], rows: list[list[int]]) -> Tensor:
    """Log-probabilities after the last token of each row, ``(rows, V)``, without a cache."""
    source, mask = padded(sources)
    beams = len(rows) // len(sources)
    memory = model.encode(source, mask).repeat_interleave(beams, 0)
    read = model.decode(torch.tensor(rows), memory, mask.repeat_interleave(beams, 0))
    return model.logits(read[:, -1]).log_softmax(-1)


@pytest.mark.case("B3")
@settings(max_examples=60, deadline=None)
@given(models, sentences, st.integers(1, 4), st.integers(0, 3), st.data())
def test_every_row_goes_on_from_the_row_that_it_was(model, sources, beams, pile, data):
    """Steps, reorderings, dropped and moved sentences in any order, with the memory cleared now and then:
    each row, element by element, is the full pass over its own tokens.
    """
    decoder = FusedDecoder(model)
    state = decoder.begin(*padded(sources))
    rows = [[1] for _ in sources]
    if data.draw(st.booleans()):
        state.expand(beams)
        rows = [row for row in rows for _ in range(beams)]
        decoder.step(torch.tensor(rows), state)
    else:
        decoder.step(torch.tensor(rows), state)
        state.expand(beams)
        rows = [row for row in rows for _ in range(beams)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "PILE", pile)
        for what in data.draw(st.lists(st.sampled_from(["step", "reorder", "keep"]), max_size=12)):
            count = len(rows) // beams
            if what == "step":
                new = [[data.draw(tokens)] for _ in rows]
                rows = [row + more for row, more in zip(rows, new, strict=True)]
                decoder.step(torch.tensor(new), state)
            elif what == "reorder":
                picks = [
                    place * beams + data.draw(st.integers(0, beams - 1))
                    for place in range(count)
                    for _ in range(beams)
                ]
                state.reorder(torch.tensor(picks))
                rows = [rows[pick] for pick in picks]
            else:
                staying = data.draw(
                    st.lists(st.integers(0, count - 1), min_size=1, max_size=count, unique=True)
                )
                state.keep(torch.tensor(staying))
                sources = [sources[place] for place in staying]
                rows = [rows[place * beams + row] for place in staying for row in range(beams)]
    last = [[data.draw(tokens)] for _ in rows]
    rows = [row + more for row, more in zip(rows, last, strict=True)]
    found = decoder.step(torch.tensor(last), state).log_softmax(-1)
    expected = full(model, sources, rows)
    assert (found - expected).abs().max() < TOLERANCE[expected.dtype]
    assert state.length == len(rows[0]) and state.beams == beams


@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_it_shows_a_recorder_what_the_model_shows(shape: int):
    """Point by point, through an expansion, a reordering and a cleared memory."""
    model = model_of(torch.float64, shape)
    fused, (source, mask) = FusedDecoder(model), padded([[5, 6, 7], [8]])
    states = model.begin(source, mask), fused.begin(source, mask)
    kinds = ("weights", "scores", "q", "k", "v", "residual", "embedded")
    read, beams = torch.tensor([[1], [1]]), 1
    for turn in range(5):
        seen = Recorder(kinds), Recorder(kinds)
        ours = model.step(read, states[0], seen[0])
        theirs = fused.step(read, states[1], seen[1])
        assert torch.allclose(ours, theirs, rtol=0, atol=1e-9)
        constant = (".cross.k", ".cross.v")  # of the source: no step changes them
        names = [name for name in seen[0].points if name[:3] == "dec" and not name.endswith(constant)]
        assert set(names) == set(seen[1].points)
        for name in names:
            expected, found = seen[0][name], seen[1][name]
            if name.endswith((".self.k", ".self.v")):
                expected = expected[:, :, -1:]
            assert found.shape == expected.shape, name
            assert torch.allclose(found, expected, rtol=0, atol=1e-9), name
        if turn == 0:
            beams = 3
            for state in states:
                state.expand(beams)
        else:
            for state in states:
                state.reorder(torch.tensor([2, 0, 2, 4, 4, 5]))
        if turn == 3:
            states[1]._drop_dead()
        read = torch.arange(3, 3 + 2 * beams).unsqueeze(1) + turn


def test_memory_is_cleared_of_what_no_row_descends_from(monkeypatch: pytest.MonkeyPatch):
    """Five rows that all go on from one keep one past, not five."""
    monkeypatch.setattr(trees, "PILE", 8)
    model = model_of(torch.float64, 0)
    decoder = FusedDecoder(model)
    state = decoder.begin(*padded([[5, 6, 7]]))
    decoder.step(torch.tensor([[1]]), state)
    state.expand(5)
    for step in range(30):
        decoder.step(torch.full((5, 1), 3 + step % 7), state)
        state.reorder(torch.zeros(5, dtype=torch.long))
    assert state.length == 31
    assert state.used < 31 + 5 * 10


def test_changed_weights_are_noticed_and_equal_ones_copied_once():
    model = small_model()
    first = FusedDecoder(model)
    assert FusedDecoder(model)._weights is first._weights
    with torch.no_grad():
        model.decoder[0].feed_forward.inner.weight.mul_(2.0)
    second = FusedDecoder(model)
    source, mask = padded([[5, 6]])
    read = torch.tensor([[1]])
    expected = model.step(read, model.begin(source, mask))
    assert torch.allclose(second.step(read, second.begin(source, mask)), expected, rtol=0, atol=1e-9)
    assert not torch.allclose(first.step(read, first.begin(source, mask)), expected, rtol=0, atol=1e-3)


def test_copies_are_forgotten_with_their_model():
    model = small_model()
    kept = weakref.ref(FusedDecoder(model)._weights)
    gc.collect()
    assert kept() is not None
    del model
    gc.collect()
    assert kept() is None


def test_the_end_of_the_positions_is_an_error_not_a_wrap():
    model = small_model(max_length=2)
    decoder = FusedDecoder(model)
    state = decoder.begin(*padded([[5]]))
    for _ in range(2):
        decoder.step(torch.tensor([[1]]), state)
    with pytest.raises(TooLongError, match="3 tokens; this model takes at most 2"):
        decoder.step(torch.tensor([[1]]), state)
