"""Searches on a real (small, random) Transformer: cache, batches, recorded attention, forced texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from atlas.decoding import OptionsError, Recording, SearchOptions, beam_search, force_target, sample
from atlas.decoding.bulk import search, translate_ids
from atlas.decoding.search import Found, SearchResult
from atlas.engine import Engine
from atlas.model import Recorder, Transformer, TransformerConfig
from atlas.model.fused import FusedDecoder
from atlas.model.tree_cache import TreeCache
from atlas.text.tokenizer import END_ID, PAD_ID, START_ID
from tests.decoding.models import recording

VOCABULARY = 40


def model(*, seed: int = 0, dtype: torch.dtype = torch.float64, **options: object) -> Transformer:
    """Weights that are spread enough to make searches branch, and to end now and then."""
    torch.manual_seed(seed)
    sizes = {"encoder_layers": 2, "decoder_layers": 3, "heads": 4, "width": 16, "ffn": 32, "max_length": 64}
    built = Transformer(TransformerConfig(vocabulary=VOCABULARY, **{**sizes, **options})).to(dtype).eval()
    with torch.no_grad():
        built.source_embedding.weight.mul_(2.0)
    return built


def sentences(count: int, seed: int = 0) -> list[list[int]]:
    random = np.random.default_rng(seed)
    return [[*random.integers(3, VOCABULARY, random.integers(1, 12)).tolist(), END_ID] for _ in range(count)]


def rescored(network: Transformer, source: Sequence[int], ids: Sequence[int]) -> list[float]:
    """Log-probabilities of a target by one full pass: no cache, no batch, no beam."""
    read = torch.tensor([[START_ID, *ids[:-1]]])
    whole = torch.tensor([list(source)])
    with torch.inference_mode():
        logits = network(whole, torch.ones_like(whole, dtype=torch.bool), read)[0]
    return logits.double().log_softmax(-1)[range(len(ids)), list(ids)].tolist()


def gaps(network: Transformer, sources: Sequence[Sequence[int]], found: Sequence[Sequence[Found]]) -> float:
    return max(
        np.abs(np.array(item.logprobs) - rescored(network, source, item.ids)).max()
        for source, items in zip(sources, found, strict=True)
        for item in items
    )


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(("dtype", "bound"), [(torch.float64, 1e-9), (torch.float32, 1e-4)])
@pytest.mark.parametrize("method", ["beam", "greedy", "sample"])
def test_stored_log_probabilities_equal_a_full_rescoring(
    norm: str, dtype: torch.dtype, bound: float, method: str
):
    network, sources = model(norm=norm, dtype=dtype), sentences(5)
    options = SearchOptions(method=method, beam=4, n_best=1 if method == "greedy" else 4)
    found = search(network, sources, options).hypotheses
    assert sum(len(items) for items in found) >= 5
    assert gaps(network, sources, found) < bound


@pytest.mark.case("B3")
def test_a_cache_that_forgets_to_reorder_is_seen(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(TreeCache, "reorder", lambda cache, rows: None)
    network, sources = model(), sentences(5)
    assert gaps(network, sources, search(network, sources, SearchOptions(beam=4, n_best=4)).hypotheses) > 1e-2


@pytest.mark.case("B8")
def test_a_batch_of_256_gives_the_same_translations_as_one_by_one():
    network, sources = model(decoder_layers=1, encoder_layers=1), sentences(256, seed=4)
    options = SearchOptions(beam=2, max_length=6, n_best=2)
    together = search(network, sources, options).hypotheses
    for source, found in zip(sources, together, strict=True):
        (alone,) = search(network, [source], options).hypotheses
        assert [item.ids for item in found] == [item.ids for item in alone]
        assert [item.score for item in found] == pytest.approx([item.score for item in alone], abs=1e-9)


@pytest.mark.case("B8")
def test_float32_too_up_to_ties():
    """In float32 a batch rounds differently: a translation may change only where two score within 1e-4."""
    network, sources = model(dtype=torch.float32), sentences(48, seed=5)
    options = SearchOptions(beam=3, max_length=10)
    together = search(network, sources, options).hypotheses
    alone = [search(network, [source], options).hypotheses[0] for source in sources]
    assert [items[0].score for items in together] == pytest.approx(
        [items[0].score for items in alone], abs=1e-4
    )
    same = [a[0].ids == b[0].ids for a, b in zip(together, alone, strict=True)]
    assert sum(same) >= 47


def test_bulk_keeps_the_order_and_says_how_far_it_is():
    network, sources = model(), sentences(30, seed=6)
    options, calls = SearchOptions(beam=2, max_length=8), []
    found = translate_ids(
        network, sources, options, batch_tokens=40, progress=lambda done, total: calls.append((done, total))
    )
    for source, items in zip(sources, found, strict=True):
        assert items[0].ids == search(network, [source], options).hypotheses[0][0].ids
    assert calls[0] == (0, 30) and calls[-1] == (30, 30)
    steps = [done for done, _ in calls]
    assert len(calls) > 5 and steps == sorted(set(steps))


def test_bulk_batches_hold_no_more_than_they_may(monkeypatch: pytest.MonkeyPatch):
    network, sources, seen = model(), sentences(30, seed=6), []
    begin = FusedDecoder.begin
    monkeypatch.setattr(
        FusedDecoder,
        "begin",
        lambda self, source, *rest, **named: (
            seen.append(tuple(source.shape)),
            begin(self, source, *rest, **named),
        )[1],
    )
    translate_ids(network, sources, SearchOptions(beam=3, max_length=4), batch_tokens=60)
    assert sum(rows for rows, _ in seen) == 30
    assert all(rows * length * 3 <= 60 or rows == 1 for rows, length in seen)
    lengths = [length for _, length in seen]
    assert lengths == sorted(lengths)


def test_nothing_to_translate_and_a_stop_half_way():
    calls = []
    assert translate_ids(model(), [], SearchOptions(), progress=lambda *now: calls.append(now)) == []
    assert calls == [(0, 0)]

    def stop(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        translate_ids(model(), sentences(9), SearchOptions(max_length=3), batch_tokens=1, progress=stop)


@pytest.mark.case("B10")
@pytest.mark.parametrize("method", ["beam", "sample"])
def test_recorded_attention_follows_the_hypothesis_own_parents(method: str):
    """Every pass, element by element, against a full pass over that node's own path; padding cut off."""
    network, sources = model(), sentences(3, seed=8)
    layers = network.config.decoder_layers
    options = SearchOptions(method=method, beam=4, n_best=4, max_length=7)
    wanted = Recording(network.config.attention_layers, ("scores", "q", "k", "v", "logits"))
    result = search(network, sources, options, recording=wanted)
    moved = 0
    for source, nodes in zip(sources, result.records, strict=True):
        slots: dict[int, list[int]] = {}
        points = {name: nodes.passes.gather(name) for name in nodes.passes.points}
        likeliest, _ = nodes.passes.top()
        for number, node in enumerate(nodes.passes.nodes):
            slots.setdefault(nodes.step[node], []).append(node)
            path = nodes.tokens(node)
            full = Recorder(("weights", "scores", "q", "k", "v"))
            whole = torch.tensor([source])
            with torch.inference_mode():
                logits = network(
                    whole, torch.ones_like(whole, dtype=torch.bool), torch.tensor([[START_ID, *path]]), full
                )[0, -1]
            for what in ("weights", "scores"):
                for block, name in (("self", f"decoder.{what}"), ("cross", f"cross.{what}")):
                    wanted = torch.stack(full.layers("decoder", block, what, layers))[:, 0, :, -1]
                    keys = wanted.shape[-1]
                    assert name != "cross.weights" or points[name].shape[-1] == keys
                    assert np.abs(points[name][number, ..., :keys] - wanted.numpy()).max() < 1e-5
                    assert not points[name][number, ..., keys:].any()
            for what in ("q", "k", "v"):
                wanted = torch.stack(full.layers("decoder", "self", what, layers))[:, 0, :, -1]
                assert np.abs(points[f"decoder.{what}"][number] - wanted.numpy()).max() < 1e-5
            assert np.abs(points["logits"][number] - logits.numpy()).max() < 1e-5
            order = logits.clone()
            order[[PAD_ID, START_ID]] = -torch.inf
            assert likeliest[number].tolist() == order.topk(10).indices.tolist()
        for step in range(2, max(slots) + 1):
            if len(slots.get(step, ())) == len(slots[step - 1]):
                parents = [nodes.parent[node] for node in slots[step]]
                moved += parents != slots[step - 1]
    assert moved or method == "sample", "no beam ever changed its slot: this would prove nothing"


def test_recording_changes_nothing():
    network, sources = model(), sentences(4, seed=9)
    for method in ("beam", "greedy", "sample"):
        options = SearchOptions(method=method, beam=3, n_best=1 if method == "greedy" else 3)
        plain = search(network, sources, options).hypotheses
        kept = search(network, sources, options, recording=recording(3)).hypotheses
        for a, b in zip(plain, kept, strict=True):
            assert [item.ids for item in a] == [item.ids for item in b]
            assert [item.score for item in a] == pytest.approx([item.score for item in b], abs=1e-9)


def test_a_forced_beginning_costs_no_end_of_the_model():
    """The longest text that fits: start token, beginning and all but the last new token are read."""
    network = model(max_length=16)
    found = search(network, [[5, END_ID]], SearchOptions(beam=2, max_length=99), prefix=[7] * 10).hypotheses[
        0
    ]
    assert all(len(item.ids) <= 16 for item in found)
    with pytest.raises(OptionsError, match="has 16 tokens; this model takes at most 15"):
        search(network, [[5, END_ID]], SearchOptions(), prefix=[7] * 16)


class TestForcedTarget:
    TARGET = (9, 30, 9, 4)

    def forced(self, network: Transformer, **options: object) -> SearchResult:
        return force_target(
            network,
            [5, 6, END_ID],
            self.TARGET,
            SearchOptions(**options),
            Recording(network.config.attention_layers),
        )

    @pytest.mark.parametrize("penalty", ["gnmt", "average", "none"])
    def test_scores_what_was_written(self, penalty: str):
        network = model()
        result = self.forced(network, penalty=penalty)
        (found,) = result.hypotheses[0]
        assert found.ids == (*self.TARGET, END_ID) and found.finished
        own = rescored(network, [5, 6, END_ID], found.ids)
        assert found.logprobs == pytest.approx(own, abs=1e-9)
        divisor = {"gnmt": (10 / 6) ** 0.6, "average": 5, "none": 1}[penalty]
        assert found.score == pytest.approx(sum(own) / divisor)

    def test_is_a_chain_of_forced_nodes_with_a_pass_each(self):
        (nodes,) = self.forced(model()).records
        assert nodes.parent == [-1, 0, 1, 2, 3, 4]
        assert nodes.token == [START_ID, *self.TARGET, END_ID]
        assert nodes.forced == [False, *[True] * 5]
        assert nodes.passes.nodes == [0, 1, 2, 3, 4]
        seen = nodes.passes.gather("decoder.weights") > 0
        assert (seen == np.tri(5, dtype=bool)[:, None, None, :]).all()

    def test_what_cannot_be_read_is_refused(self):
        network = model(max_length=8)
        for target, line in (
            ((9, END_ID), "a forced translation cannot contain control tokens"),
            ((9, PAD_ID), "a forced translation cannot contain control tokens"),
            ((9,) * 8, "the forced translation has 8 tokens; this model takes at most 7"),
        ):
            with pytest.raises(OptionsError, match=f"^{line}$"):
                force_target(network, [5, END_ID], target, SearchOptions(), recording(3))
        (found,) = force_target(network, [5, END_ID], (9,) * 7, SearchOptions(), recording(3)).hypotheses[0]
        assert len(found.ids) == 8


def test_positions_of_the_callers_own():
    network, source = model(), [[5, 6, 7, END_ID]]
    options = SearchOptions(method="greedy", max_length=8)
    assert network.position_table is not None
    plain, same, zero = (
        beam_search(network, source, options, positions=table).hypotheses[0][0]
        for table in (None, network.position_table.clone(), torch.zeros(4, 16, dtype=torch.float64))
    )
    assert plain == same
    assert plain.logprobs != zero.logprobs
    drawn = [
        sample(network, source, SearchOptions(method="sample", max_length=8), positions=table).hypotheses[0][
            0
        ]
        for table in (None, torch.zeros(4, 16, dtype=torch.float64))
    ]
    assert drawn[0].logprobs != drawn[1].logprobs


@pytest.mark.case("B4")
@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(beam=4, n_best=4),
        SearchOptions(beam=3, n_best=3, penalty="average", stop="first", max_length=4),
        SearchOptions(method="greedy"),
        SearchOptions(method="sample", n_best=8, temperature=0.2, max_length=6),
    ],
)
def test_a_trace_of_every_search_is_valid_and_adds_up_to_what_translate_returns(
    options: SearchOptions, tiny_bundle: Path
):
    engine = Engine.load(tiny_bundle, device="cpu")
    texts = ["I love you.", "Where is the station?"]
    for trace, translation in zip(
        engine.traces(texts, options), engine.translate(texts, options), strict=True
    ):
        trace.validate()
        assert len(trace.hypotheses) == len(translation.hypotheses)
        for node, hypothesis in zip(trace.hypotheses.tolist(), translation.hypotheses, strict=True):
            path = trace.path(node)
            assert tuple(token.id for token in path.outputs) == hypothesis.ids
            assert path.logprobs.sum() == pytest.approx(hypothesis.logprob, abs=1e-4)
            assert trace.search.cumulative[node] == pytest.approx(hypothesis.logprob, abs=1e-4)
            assert trace.search.score[node] == pytest.approx(hypothesis.score, abs=1e-4)
