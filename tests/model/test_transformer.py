"""The whole model: padding, batches, causality, recording, positions, and nothing left behind."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from atlas.model import PRESETS, Recorder, Transformer, TransformerConfig
from atlas.model.layers import fast_dropout
from atlas.model.transformer import TooLongError
from atlas.text.batches import pad
from tests.model.reference import VOCABULARY, small_model

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4}
ids = st.integers(3, VOCABULARY - 1)


@cache
def model_of(dtype: torch.dtype = torch.float64, norm: str = "pre") -> Transformer:
    return small_model(dtype=dtype, norm=norm).requires_grad_(False)


models = st.builds(model_of, st.sampled_from(list(TOLERANCE)), st.sampled_from(["post", "pre"]))


@st.composite
def pairs(draw: Callable, most: int = 4) -> list[tuple[list[int], list[int]]]:
    """Sources with their end mark, targets with their start token, of any lengths."""
    sides = st.tuples(st.lists(ids, max_size=7), st.lists(ids, max_size=7))
    return [([*a, 2], [1, *b]) for a, b in draw(st.lists(sides, min_size=1, max_size=most))]


def run(
    model: Transformer, batch: list[tuple[list[int], list[int]]], recorder: Recorder | None = None
) -> Tensor:
    source, target = pad([a for a, _ in batch]), pad([b for _, b in batch])
    return model(source, source != 0, target, recorder).log_softmax(-1)


def real_maps(recorder: Recorder, row: int, source: int, target: int) -> dict[str, Tensor]:
    """Recorded weights and scores of one sentence, cut to its own tokens."""
    cut = {}
    for name, value in recorder.points.items():
        if name.endswith((".weights", ".scores")):
            queries = source if name.startswith("encoder") else target
            keys = target if name.startswith("decoder") and ".self." in name else source
            cut[name] = value[row, :, :queries, :keys]
    return cut


@pytest.mark.case("A2")
@pytest.mark.case("M3")
@pytest.mark.case("B8")
@settings(max_examples=40, deadline=None)
@given(models, pairs())
def test_a_padded_batch_says_the_same_as_one_by_one(model, batch):
    """Logits and maps do not know of the other sentences; padding gets exactly nothing."""
    tolerance = TOLERANCE[model.unembedding.dtype]
    together = Recorder()
    logprobs = run(model, batch, together)
    fast = run(model, batch)
    for row, (source, target) in enumerate(batch):
        alone = Recorder()
        expected = run(model, [(source, target)], alone)[0]
        assert (logprobs[row, : len(target)] - expected).abs().max() < tolerance
        assert (fast[row, : len(target)] - expected).abs().max() < tolerance
        found = real_maps(together, row, len(source), len(target))
        for name, single in real_maps(alone, 0, len(source), len(target)).items():
            assert torch.allclose(found[name], single, rtol=0, atol=tolerance), name
            if name.endswith("weights"):
                assert (found[name].sum(-1) - 1).abs().max() < 1e-5
                keys = found[name].shape[-1]
                assert (together[name][row, :, : found[name].shape[1], keys:] == 0).all(), name


@pytest.mark.case("A2")
def test_sixteen_sentences_of_all_lengths_at_once():
    model = model_of()
    generator = np.random.default_rng(5)
    batch = [
        (
            [*generator.integers(3, VOCABULARY, length).tolist(), 2],
            [1, *generator.integers(3, VOCABULARY, 17 - length).tolist()],
        )
        for length in range(1, 17)
    ]
    together = Recorder(("weights",))
    run(model, batch, together)
    for row, (source, target) in enumerate(batch):
        alone = Recorder(("weights",))
        run(model, [(source, target)], alone)
        found = real_maps(together, row, len(source), len(target))
        for name, single in real_maps(alone, 0, len(source), len(target)).items():
            assert torch.allclose(found[name], single, rtol=0, atol=1e-9), name


@pytest.mark.case("M3")
def test_a_mask_on_the_query_axis_would_be_seen():
    """The mistake that the tests above guard against moves real numbers."""
    model = model_of()
    source = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]])
    mask = source != 0
    right = model.encode(source, mask)[1, :2]
    stream = model._embed("encoder", source, None, None)
    for index, layer in enumerate(model.encoder):
        stream = layer(stream, mask[:, None, :, None].expand(-1, -1, -1, 4), None, str(index), False)
    assert (model.encoder_norm(stream)[1, :2] - right).abs().max() > 1e-3


@pytest.mark.case("A6")
@settings(max_examples=30, deadline=None)
@given(models, pairs())
def test_recording_changes_nothing_and_drops_no_mask(model, batch):
    recorder = Recorder()
    assert (run(model, batch, recorder) - run(model, batch)).abs().max() < TOLERANCE[model.unembedding.dtype]
    longest = max(len(target) for _, target in batch)
    future = torch.ones(longest, longest, dtype=torch.bool).triu(1)
    for layer in range(model.config.decoder_layers):
        weights = recorder[f"decoder.{layer}.self.weights"]
        assert (weights[:, :, future] == 0).all()
        assert (weights[:, :, ~future] > 0).all()
        assert (recorder[f"decoder.{layer}.self.scores"][:, :, future] == -torch.inf).all()


@pytest.mark.case("M1")
@settings(max_examples=30, deadline=None)
@given(models, pairs(most=1), st.lists(ids, min_size=1, max_size=4), st.booleans())
def test_a_future_token_moves_no_earlier_logit(model, batch, more, recorded):
    [(source, target)] = batch
    changed = [*target, *(3 + (number - 2) % (VOCABULARY - 3) for number in more)]
    first, second = (
        run(model, [(source, longer)], Recorder() if recorded else None)
        for longer in ([*target, *more], changed)
    )
    length = len(target)
    assert (first[:, :length] - second[:, :length]).abs().max() < TOLERANCE[model.unembedding.dtype] / 100
    assert (first[:, length:] - second[:, length:]).abs().max() > 1e-4, "the later ones do move"


@pytest.mark.case("A3")
@pytest.mark.parametrize("dtype", list(TOLERANCE))
def test_a_source_of_padding_alone_gives_numbers(dtype):
    model = model_of(dtype)
    batch = [([5, 2], [1, 4]), ([0, 0], [1, 4])]
    recorder = Recorder()
    assert run(model, batch).isfinite().all() and run(model, batch, recorder).isfinite().all()
    assert (recorder["encoder.0.self.weights"][1] == 0).all()
    assert (recorder["decoder.0.cross.weights"][1] == 0).all()


@pytest.mark.case("A4")
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_weights_in_training_are_recorded_before_dropout(norm):
    model = small_model(norm=norm, dropout=0.5).train()
    recorder = Recorder()
    torch.manual_seed(3)
    batch = [([5, 6, 2], [1, 4, 9]), ([7, 2], [1, 8])]
    recorded = run(model, batch, recorder)
    names = [name for name in recorder.points if name.endswith(".weights")]
    assert len(names) == 2 + 2 * 3
    for name in names:
        weights, scores = recorder[name], recorder[name.replace("weights", "scores")]
        assert (weights.sum(-1) - 1).abs().max() < 1e-9
        assert torch.allclose(scores.softmax(-1), weights, rtol=0, atol=1e-12)
    torch.manual_seed(3)
    assert torch.equal(run(model, batch), recorded), "recording draws no random number"
    assert (run(model, batch) - recorded).abs().max() > 1e-3, "dropout is on"


@pytest.mark.case("A8")
@pytest.mark.parametrize(("encoder", "decoder"), [(1, 3), (3, 1)])
def test_encoder_and_decoder_may_differ_in_depth(encoder, decoder):
    model = small_model(encoder_layers=encoder, decoder_layers=decoder)
    recorder = Recorder(("weights",))
    run(model, [([5, 2], [1, 4])], recorder)
    assert len(recorder.layers("encoder", "self", "weights", encoder)) == encoder
    assert len(recorder.layers("decoder", "cross", "weights", decoder)) == decoder
    assert len(recorder.points) == encoder + 2 * decoder


@pytest.mark.case("A7")
def test_each_of_many_threads_records_its_own_pass():
    model = model_of()
    batches = [[([3 + n, 4 + n, 2], [1, 5 + n, 6 + n])] for n in range(10)]

    def maps(batch: list[tuple[list[int], list[int]]]) -> tuple[Recorder, Tensor]:
        recorder = Recorder()
        return recorder, run(model, batch, recorder)

    expected = [maps(batch) for batch in batches]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(maps, batches * 20))
    for place, (recorder, logprobs) in enumerate(found):
        own, own_logprobs = expected[place % len(batches)]
        assert torch.allclose(logprobs, own_logprobs, rtol=0, atol=1e-12)
        for name, value in own.points.items():
            assert torch.allclose(recorder[name], value, rtol=0, atol=1e-12), name


def test_a_pass_leaves_nothing_on_any_module():
    model = small_model()

    def state() -> dict[str, object]:
        held: dict[str, object] = {}
        for name, module in model.named_modules():
            for key, value in vars(module).items():
                held[f"{name}.{key}"] = (id(value), len(value) if hasattr(value, "__len__") else None)
            held |= {f"{name}.{key}": id(value) for key, value in module._buffers.items()}
        return held

    before = state()
    run(model, [([5, 2], [1, 4])], Recorder())
    cache_ = model.begin(torch.tensor([[5, 2]]), torch.ones(1, 2, dtype=torch.bool))
    model.step(torch.tensor([[1]]), cache_, Recorder())
    assert state() == before


@settings(max_examples=30, deadline=None)
@given(st.permutations(range(6)))
def test_without_positions_the_encoder_does_not_see_word_order(order):
    source, mask = torch.tensor([[5, 9, 3, 9, 7, 2]]), torch.ones(1, 6, dtype=torch.bool)
    bare, placed = (small_model(positions=kind) for kind in ("none", "sinusoidal"))
    shuffled = bare.encode(source[:, order], mask)
    assert (shuffled - bare.encode(source, mask)[:, order]).abs().max() < 1e-12
    if order != list(range(6)):
        difference = placed.encode(source[:, order], mask) - placed.encode(source, mask)[:, order]
        assert difference.abs().max() > 1e-3


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_a_table_of_positions_may_be_handed_in(positions):
    model = small_model(positions=positions)
    bare = small_model(positions="none")
    bare.load_state_dict(
        {name: value for name, value in model.state_dict().items() if name != "position_table"}
    )
    source, mask = torch.tensor([[5, 9, 2]]), torch.ones(1, 3, dtype=torch.bool)
    nowhere = torch.zeros(3, 16, dtype=torch.float64)
    zero = model.encode(source, mask, positions=nowhere)
    assert (zero - bare.encode(source, mask)).abs().max() < 1e-12
    own = model.encode(source, mask, positions=model.position_table)
    assert torch.equal(own, model.encode(source, mask))
    assert (own - zero).abs().max() > 1e-3


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
def test_a_text_beyond_the_last_position_is_refused_in_one_line(positions):
    model = small_model(positions=positions, max_length=5)
    fits, longer = [[3] * 5], [[3] * 6]
    mask = torch.ones(1, 6, dtype=torch.bool)
    memory = model.encode(torch.tensor(fits), mask[:, :5])
    with pytest.raises(TooLongError, match=r"^a text of 6 tokens; this model takes at most 5$"):
        model.encode(torch.tensor(longer), mask)
    with pytest.raises(TooLongError, match="at most 5"):
        model.decode(torch.tensor(longer), memory, mask[:, :5])
    state = model.start(memory, mask[:, :5], capacity=2)
    model.step(torch.tensor(fits), state)
    with pytest.raises(TooLongError, match="at most 5"):
        model.step(torch.tensor([[3]]), state)


def parameters(vocabulary: int, layers: int, width: int, ffn: int, *, pre: bool) -> int:
    """Number of weights of a tied Transformer with as many encoder as decoder layers."""
    attention = 4 * (width * width + width)
    feed_forward = 2 * width * ffn + ffn + width
    norm = 2 * width
    encoder, decoder = attention + feed_forward + 2 * norm, 2 * attention + feed_forward + 3 * norm
    return vocabulary * width + layers * (encoder + decoder) + (2 * norm if pre else 0)


@pytest.mark.parametrize(
    ("preset", "vocabulary", "layers", "width", "ffn", "pre", "millions"),
    [
        ("tiny", 10_000, 4, 128, 256, True, 2.6),
        ("small", 8_000, 4, 256, 1024, True, 9.4),
        ("base", 37_000, 6, 512, 2048, False, 63.1),
    ],
)
def test_presets_have_the_published_sizes(preset, vocabulary, layers, width, ffn, pre, millions):
    with torch.device("meta"):
        model = Transformer(TransformerConfig(vocabulary=vocabulary, **PRESETS[preset]))
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count == parameters(vocabulary, layers, width, ffn, pre=pre)
    assert round(count / 1e6, 1) == millions


@pytest.mark.case("M4")
def test_tied_means_one_tensor():
    model = small_model(tied=True)
    assert model.unembedding is model.source_embedding.weight is model.target_embedding.weight
    names = [name for name, value in model.named_parameters() if value.shape == (VOCABULARY, 16)]
    assert names == ["unembedding"]
    apart = small_model(tied=False)
    shapes = [name for name, value in apart.named_parameters() if value.shape == (VOCABULARY, 16)]
    assert shapes == ["unembedding", "source_embedding.weight", "target_embedding.weight"]


@settings(max_examples=40, deadline=None)
@given(st.floats(0, 0.9999), st.integers(0, 2**31), st.sampled_from([torch.float32, torch.float64]))
def test_dropout_keeps_the_expectation(probability, seed, dtype):
    torch.manual_seed(seed)
    dropped = fast_dropout(torch.ones(100, 333, dtype=dtype), probability)
    assert dropped.shape == (100, 333) and dropped.dtype == dtype
    survivors = dropped[dropped != 0]
    share = len(survivors) / dropped.numel()
    real = min(round(probability * 256), 255) / 256
    assert abs(share - (1 - real)) < 5 * (0.25 / dropped.numel()) ** 0.5 + 1e-9
    assert torch.allclose(survivors, torch.full_like(survivors, 1 / (1 - real)))


def test_no_dropout_is_the_identity():
    stream = torch.randn(3, 4)
    assert fast_dropout(stream, 0.0) is stream
