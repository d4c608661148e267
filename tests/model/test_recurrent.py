"""The recurrent ancestors: their cells, causality, padding, decoding and attention."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from atlas.decoding import Recording, SearchOptions
from atlas.decoding.bulk import search, translate_ids
from atlas.errors import AtlasError
from atlas.model.config import ConfigError, TransformerConfig
from atlas.model.family import build_model, config_from_dict
from atlas.model.recorder import Recorder
from atlas.model.recurrence import Recurrence
from atlas.model.recurrent import CROSS, RecurrentTranslator
from atlas.model.recurrent_config import RecurrentConfig
from atlas.text.batches import pad

KINDS = ["none", "additive", "dot"]
CELLS = ["gru", "lstm"]
EVERY = [(kind, cell) for kind in KINDS for cell in CELLS]
SOURCES = [[5, 6, 7, 8, 9, 2], [10, 11, 2], [12, 2]]
TARGETS = [[1, 9, 10, 11], [1, 4], [1, 5, 6, 7]]


def translator(kind: str = "additive", cell: str = "gru", **options: object) -> RecurrentTranslator:
    torch.manual_seed(5)
    sizes = {"vocabulary": 20, "width": 6, "state": 8, "dropout": 0.1}
    config = RecurrentConfig(attention=kind, cell=cell, **{**sizes, **options})  # type: ignore[arg-type]
    return RecurrentTranslator(config).double().eval().requires_grad_(False)


def run(model: RecurrentTranslator, rows: list[int], recorder: Recorder | None = None) -> Tensor:
    source, target = pad([SOURCES[row] for row in rows]), pad([TARGETS[row] for row in rows])
    return model(source, source != 0, target, recorder).log_softmax(-1)


def copied(ours: Recurrence, theirs: nn.GRU | nn.LSTM, directions: list[str]) -> None:
    """Put our weights into PyTorch's module."""
    for chain, suffix in enumerate(directions):
        for name, ours_name in (("ih", "input"), ("hh", "state")):
            getattr(theirs, f"weight_{name}_l0{suffix}").data = getattr(ours, f"{ours_name}_weight")[chain].T
            getattr(theirs, f"bias_{name}_l0{suffix}").data = getattr(ours, f"{ours_name}_bias")[chain, 0]


@pytest.mark.parametrize("cell", CELLS)
def test_both_directions_are_those_of_pytorchs_own_module(cell: str) -> None:
    """Packed sequences of three lengths, forward and backward, against ``torch.nn.GRU`` and ``nn.LSTM``."""
    torch.manual_seed(1)
    ours = Recurrence(cell, 5, 4, chains=2).double()  # type: ignore[arg-type]
    for bias in (ours.input_bias, ours.state_bias):
        nn.init.normal_(bias)
    module = nn.GRU if cell == "gru" else nn.LSTM
    theirs = module(5, 4, batch_first=True, bidirectional=True).double()
    copied(ours, theirs, ["", "_reverse"])
    lengths = torch.tensor([6, 4, 1])
    inputs = torch.randn(3, 6, 5, dtype=torch.float64)
    mask = torch.arange(6) < lengths[:, None]
    packed = nn.utils.rnn.pack_padded_sequence(inputs, lengths, batch_first=True)
    expected, _ = nn.utils.rnn.pad_packed_sequence(theirs(packed)[0], batch_first=True)
    both = torch.stack((inputs, inputs.flip(1)))
    begin = ours.start(torch.zeros(2, 3, 4, dtype=torch.float64))
    states = ours.hidden(ours(ours.project(both), begin, torch.stack((mask, mask.flip(1)))))
    found = torch.cat((states[0], states[1].flip(1)), -1)
    torch.testing.assert_close(found[mask], expected[mask], rtol=0, atol=1e-12)


@pytest.mark.parametrize("cell", CELLS)
def test_one_step_is_that_of_pytorchs_own_cell(cell: str) -> None:
    torch.manual_seed(2)
    ours = Recurrence(cell, 5, 4).double()  # type: ignore[arg-type]
    nn.init.normal_(ours.input_bias)
    nn.init.normal_(ours.state_bias)
    theirs = (nn.GRUCell if cell == "gru" else nn.LSTMCell)(5, 4).double()
    theirs.weight_ih.data, theirs.weight_hh.data = ours.input_weight[0].T, ours.state_weight[0].T
    theirs.bias_ih.data, theirs.bias_hh.data = ours.input_bias[0, 0], ours.state_bias[0, 0]
    inputs, hidden, memory = (torch.randn(3, size, dtype=torch.float64) for size in (5, 4, 4))
    projected = ours.project(inputs[None, :, None])[:, :, 0]
    if cell == "gru":
        expected = theirs(inputs, hidden)
        found = ours.step(projected, hidden[None])[0]
    else:
        expected = torch.cat(theirs(inputs, (hidden, memory)), -1)
        found = ours.step(projected, torch.cat((hidden, memory), -1)[None])[0]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("kind", "cell"), EVERY)
def test_padding_changes_nothing(kind: str, cell: str) -> None:
    model = translator(kind, cell)
    together = run(model, [0, 1, 2])
    for row, target in enumerate(TARGETS):
        alone = run(model, [row])[0]
        torch.testing.assert_close(together[row, : len(target)], alone, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("kind", "cell"), EVERY)
def test_what_comes_later_is_not_seen(kind: str, cell: str) -> None:
    model, source = translator(kind, cell), pad([SOURCES[0]])
    one, other = torch.tensor([[1, 9, 10, 11]]), torch.tensor([[1, 9, 10, 4]])
    moved = (model(source, source != 0, one) - model(source, source != 0, other)).abs().amax(-1)[0]
    assert moved[:3].max() == 0
    assert moved[3] > 0


@pytest.mark.parametrize(("kind", "cell"), EVERY)
def test_token_by_token_is_the_whole_at_once(kind: str, cell: str) -> None:
    """Steps of one token, and of several, against teacher forcing; beams of a sentence side by side."""
    model, source = translator(kind, cell), pad(SOURCES)
    mask = source != 0
    target = torch.tensor([[1, 9, 10, 11], [1, 4, 4, 8], [1, 5, 6, 7]])
    whole = model(source, mask, target)
    state = model.begin(source, mask)
    state.expand(2)
    for place in range(4):
        logits = model.step(target[:, place : place + 1].repeat_interleave(2, 0), state)
        torch.testing.assert_close(logits, whole[:, place].repeat_interleave(2, 0), rtol=0, atol=1e-9)
    assert state.length == 4
    state = model.begin(source, mask)
    torch.testing.assert_close(model.step(target, state), whole[:, -1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_follow_their_parents_and_sentences_leave(kind: str) -> None:
    model, source = translator(kind), pad(SOURCES)
    mask = source != 0
    state = model.begin(source, mask)
    state.expand(2)
    first = torch.tensor([[1]] * 6)
    model.step(first, state)
    model.step(torch.tensor([[3], [4], [5], [6], [7], [8]]), state)
    state.reorder(torch.tensor([1, 1, 2, 3, 5, 4]))
    state.keep(torch.tensor([0, 2]))
    logits = model.step(torch.tensor([[9], [10], [11], [12]]), state)
    paths = [(0, [1, 4, 9]), (0, [1, 4, 10]), (2, [1, 8, 11]), (2, [1, 7, 12])]
    for row, (sentence, path) in enumerate(paths):
        alone = pad([SOURCES[sentence]])
        expected = model(alone, alone != 0, torch.tensor([path]))[0, -1]
        torch.testing.assert_close(logits[row], expected, rtol=0, atol=1e-9)


def test_additive_attention_is_bahdanaus_equation() -> None:
    model, recorder = translator("additive"), Recorder()
    source = pad(SOURCES)
    mask = source != 0
    memory = model.encode(source, mask)
    model.decode(torch.tensor([[1], [1], [1]]), memory, mask, recorder)
    half = model.encoder.state
    for row, ids in enumerate(SOURCES):
        ends = torch.cat((memory[row, len(ids) - 1, :half], memory[row, 0, half:]))
        state = torch.tanh(model.first_state.weight @ ends + model.first_state.bias)
        scores = [
            model.score.weight[0]
            @ torch.tanh(model.ask.weight @ state + model.offer.weight @ memory[row, j] + model.offer.bias)
            for j in range(len(ids))
        ]
        weights = torch.stack(scores).softmax(0)
        found = recorder[f"{CROSS}.weights"][row, 0, 0]
        torch.testing.assert_close(found[: len(ids)], weights, rtol=0, atol=1e-12)
        assert found[len(ids) :].abs().sum() == 0
        context = (weights[:, None] * memory[row, : len(ids)]).sum(0)
        torch.testing.assert_close(recorder[f"{CROSS}.heads"][row, 0, 0], context, rtol=0, atol=1e-12)


def test_dot_attention_is_luongs_equation() -> None:
    model, recorder = translator("dot"), Recorder()
    source = pad(SOURCES[:1])
    memory = model.encode(source, source != 0)
    state = model.start(memory, source != 0)
    model.step(torch.tensor([[1]]), state, recorder)
    after = model.decoder.hidden(state.memory)[0]
    scores = torch.stack([after @ memory[0, j] for j in range(memory.shape[1])])
    torch.testing.assert_close(recorder[f"{CROSS}.scores"][0, 0, 0], scores, rtol=0, atol=1e-12)


def test_without_attention_only_one_vector_reaches_the_decoder() -> None:
    """Two sources that agree in where both directions end are the same to the decoder."""
    model = translator("none")
    memory = torch.randn(1, 5, 8, dtype=torch.float64)
    other = torch.randn(1, 5, 8, dtype=torch.float64)
    half, mask, target = model.encoder.state, torch.ones(1, 5, dtype=torch.bool), torch.tensor([[1, 5, 6]])
    other[:, -1, :half], other[:, 0, half:] = memory[:, -1, :half], memory[:, 0, half:]
    same = model.decode(target, memory, mask), model.decode(target, other, mask)
    assert torch.equal(*same)
    recorder = Recorder()
    model.decode(target, memory, mask, recorder)
    assert not [name for name in recorder.points if name.endswith(".weights")]


@pytest.mark.parametrize("kind", ["additive", "dot"])
def test_recorded_steps_are_those_of_the_whole_pass_and_can_be_edited(kind: str) -> None:
    model, whole, edited = translator(kind), Recorder(), Recorder()
    source, target = pad(SOURCES[:1]), torch.tensor([[1, 9, 10, 11]])
    logits = model(source, source != 0, target, whole)
    state = model.begin(source, source != 0)
    for place in range(4):
        one = Recorder()
        model.step(target[:, place : place + 1], state, one)
        found = whole[f"{CROSS}.weights"][:, :, place]
        torch.testing.assert_close(one[f"{CROSS}.weights"][:, :, 0], found, rtol=0, atol=1e-12)
    edited = Recorder(edits={f"{CROSS}.weights": lambda weights: torch.full_like(weights, 1 / 6)})
    moved = model(source, source != 0, target, edited)
    assert (moved - logits).abs().max() > 1e-9
    mean = model.encode(source, source != 0).mean(1)
    torch.testing.assert_close(edited[f"{CROSS}.heads"][0, 0], mean.expand(4, -1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_searches_serve_them_as_they_serve_the_transformer(kind: str) -> None:
    model = translator(kind)
    options = SearchOptions(beam=3, n_best=3, max_length=6)
    alone = [translate_ids(model, [ids], options)[0] for ids in SOURCES]
    together = translate_ids(model, SOURCES, options)
    for one, other in zip(alone, together, strict=True):
        assert [found.ids for found in one] == [found.ids for found in other]
    recorded = search(
        model, SOURCES, options, recording=Recording(model.config.attention_layers, ("scores",))
    )
    layers = model.config.attention_layers["cross"]
    for ids, record, found in zip(SOURCES, recorded.records, recorded.hypotheses, strict=True):
        count, longest = len(record.passes), max(record.step[node] for node in record.passes.nodes)
        assert record.passes.gather("cross.weights").shape == (count, layers, layers, len(ids))
        assert record.passes.gather("decoder.weights").shape == (count, 0, 0, longest + 1)
        best = found[0]
        source, target = torch.tensor([ids]), torch.tensor([[1, *best.ids[:-1]]])
        logprobs = model(source, source > 0, target)[0].log_softmax(-1)
        total = sum(float(logprobs[place, token]) for place, token in enumerate(best.ids))
        assert best.logprob == pytest.approx(total, abs=1e-9)


def test_positions_cannot_be_replaced_where_there_are_none() -> None:
    model, source = translator(), pad(SOURCES)
    with pytest.raises(AtlasError, match="no position encoding"):
        model.encode(source, source != 0, positions=torch.zeros(9, 6))


def test_training_moves_every_weight() -> None:
    for kind, cell in EVERY:
        model = translator(kind, cell).float().train().requires_grad_(True)
        source = pad(SOURCES)
        model(source, source != 0, pad(TARGETS)).log_softmax(-1)[..., 3].sum().backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.abs().sum() > 0, (kind, cell, name)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"state": 7}, "state must be even"),
        ({"state": 0}, "state must be a whole number of at least 1"),
        ({"width": 1.5}, "width must be a whole number"),
        ({"dropout": math.nan}, "dropout must be"),
        ({"attention": "local"}, "attention must be one of none, additive, dot"),
        ({"cell": "rnn"}, "cell must be one of gru, lstm"),
        ({"tied": 1}, "tied must be true or false"),
        ({"heads": 4}, "unknown model option 'heads'"),
    ],
)
def test_impossible_descriptions_get_one_line(options: dict, line: str) -> None:
    with pytest.raises(ConfigError, match=line):
        config_from_dict({"architecture": "recurrent", "vocabulary": 20, **options})


def test_the_family_is_told_apart_by_one_word() -> None:
    config = RecurrentConfig(vocabulary=20, width=6, state=8)
    assert config_from_dict(config.to_dict()) == config
    assert isinstance(build_model(replace(config, tied=False)), RecurrentTranslator)
    plain = TransformerConfig(vocabulary=20, width=8, heads=2)
    assert config_from_dict(plain.to_dict()) == plain
    assert config_from_dict({"architecture": "transformer", **plain.to_dict()}) == plain
    with pytest.raises(ConfigError, match="architecture must be transformer or recurrent, not 'rnn'"):
        config_from_dict({"architecture": "rnn", "vocabulary": 20})
    with pytest.raises(ConfigError, match="'vocabulary' is missing"):
        config_from_dict({"architecture": "recurrent"})
