"""The engine: its answers, what it refuses, and traces that replay to what the model says without a cache."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas import build_trace
from atlas.checkpoint import Bundle, save_bundle
from atlas.decoding import OptionsError, SearchOptions
from atlas.engine import EXTRAS, EmptySentence, Engine, SentenceTooLong, Translation
from atlas.errors import AtlasError
from atlas.model import Recorder, Transformer
from atlas.model.transformer import TooLongError
from atlas.text.tokenizer import END_ID, START_ID, Tokenizer, TokenizerError
from atlas.trace import Fate, Search, Trace, TraceError
from tests.conftest import ENGLISH, FRENCH, tiny_model

SHORT = SearchOptions(max_length=6)
EMPTY = ["", "   ", "\n\t", "\u00a0"]


@pytest.fixture(scope="module")
def engine(tiny_bundle: Path) -> Engine:
    """The tiny bundle: its translations run into the length limit."""
    return Engine.load(tiny_bundle, "cpu")


@pytest.fixture(scope="module")
def ending(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """A model of one encoder and three decoder layers whose translations differ and come to an end."""
    options = {
        "encoder_layers": 1,
        "decoder_layers": 3,
        "norm": "post",
        "positions": "learned",
        "tied": False,
    }
    model = tiny_model(tokenizer, seed=4, **options)
    with torch.no_grad():
        direction = torch.randn(model.config.width) / 2
        model.decoder[-1].ffn_norm.bias.copy_(direction)
        model.unembedding[END_ID] += direction * 4 / direction.square().sum()  # adds about 4 to its logit
    path = tmp_path_factory.mktemp("ending") / "ending"
    save_bundle(Bundle("ending", "en", "fr", model, tokenizer), path)
    return Engine.load(path, "cpu")


class Full:
    """What the model says of one hypothesis in one pass without a cache."""

    def __init__(self, engine: Engine, sentence: str, ids: tuple[int, ...]) -> None:
        source = torch.tensor([engine.tokenizer.source(sentence)])
        self.recorder = Recorder()
        target = torch.tensor([[START_ID, *ids[:-1]]])
        with torch.inference_mode():
            mask = torch.ones_like(source, dtype=torch.bool)
            self.logits = engine.model(source, mask, target, self.recorder)[0]
        self.logprobs = self.logits.double().log_softmax(-1)
        self.of_tokens = self.logprobs[torch.arange(len(ids)), torch.tensor(ids)].numpy()
        self._layers = engine.config.encoder_layers, engine.config.decoder_layers

    def stack(self, side: str, block: str, what: str) -> np.ndarray:
        """``(L, H, queries, keys)``."""
        count = self._layers[side == "decoder"]
        return torch.stack(self.recorder.layers(side, block, what, count))[:, 0].numpy()


def close(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-5) -> bool:
    return found.shape == expected.shape and np.allclose(found, expected, rtol=0, atol=tolerance)


def assert_replays(engine: Engine, trace: Trace, nodes: list[int]) -> None:
    """B4, B10: attention, scores and log-probabilities of these paths are those of a full pass."""
    for node in nodes:
        path = trace.path(node)
        ids = trace.token_path(node)
        full = Full(engine, trace.source, ids)
        assert close(path.cross, full.stack("decoder", "cross", "weights"))
        assert close(path.decoder, full.stack("decoder", "self", "weights"))
        assert close(trace.encoder, full.stack("encoder", "self", "weights"))
        assert np.abs(path.logprobs - full.of_tokens).max() < 1e-4
        assert abs(trace.search.cumulative[node] - full.of_tokens.sum()) < 1e-4
        if path.cross_scores is not None:
            assert close(path.cross_scores, full.stack("decoder", "cross", "scores"), 1e-4)
            assert close(path.decoder_scores, full.stack("decoder", "self", "scores"), 1e-4)
        best = full.logprobs.clone()
        best[:, [0, START_ID]] = -torch.inf
        top = best.topk(10).values.numpy()
        assert np.abs(trace.search.top_logprobs[path.rows] - top).max() < 1e-4
        offered = np.take_along_axis(full.logprobs.numpy(), trace.search.top_ids[path.rows], -1)
        assert np.abs(offered - top).max() < 1e-4
        assert trace.text(node) == engine.tokenizer.decode(ids)


def some_nodes(trace: Trace, count: int = 12) -> list[int]:
    """The hypotheses, and nodes of every fate."""
    chosen = np.random.default_rng(0).choice(np.arange(1, len(trace.search)), count)
    return [*trace.hypotheses.tolist(), *chosen.tolist()]


def arrays(trace: Trace) -> Iterator[tuple[str, np.ndarray]]:
    yield "encoder", trace.encoder
    yield "hypotheses", trace.hypotheses
    for field in fields(Search):
        yield f"search.{field.name}", getattr(trace.search, field.name)
    yield from trace.extras.items()


def assert_same(first: Trace, second: Trace, tolerance: float) -> None:
    """Equal whole numbers, real ones within a tolerance."""
    assert first.source_tokens == second.source_tokens and first.vocabulary == second.vocabulary
    assert first.header == second.header
    others = dict(arrays(second))
    for name, values in arrays(first):
        assert values.dtype == others.pop(name).dtype, name
        other = dict(arrays(second))[name]
        if values.dtype.kind == "f" and tolerance:
            assert values.shape == other.shape and np.allclose(values, other, rtol=0, atol=tolerance), name
        else:
            assert np.array_equal(values, other), name
    assert not others


def test_what_an_engine_says_of_itself(engine: Engine, tiny_bundle: Path, tokenizer: Tokenizer):
    assert (engine.name, engine.source_language, engine.target_language) == ("tiny", "en", "fr")
    assert (engine.card, engine.history) == ("# tiny\n", "step\n")
    assert engine.parameters == sum(parameter.numel() for parameter in tiny_model(tokenizer).parameters())
    assert engine.hash == Engine.load(str(tiny_bundle), "cpu").hash
    assert engine.device == torch.device("cpu") and engine.config.encoder_layers == 2
    assert not engine.model.training


def test_device_by_environment(tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ATLAS_DEVICE", "nonsense")
    with pytest.raises(AtlasError, match=r"^no such device: 'nonsense'; use cuda"):
        Engine.load(tiny_bundle)
    monkeypatch.setenv("ATLAS_DEVICE", "cpu")
    assert Engine.load(tiny_bundle).device == torch.device("cpu")


@pytest.mark.case("T5")
@pytest.mark.parametrize("sentence", EMPTY)
def test_nothing_to_translate_is_an_empty_result_with_a_hint(engine: Engine, sentence: str):
    [result] = engine.translate([sentence])
    assert result.source == sentence and result.hypotheses == () and result.text == ""
    assert np.isnan(result.score) and result.note == "the sentence is empty; type some words"
    with pytest.raises(EmptySentence, match=r"^the sentence is empty; type some words$"):
        engine.trace(sentence)


def test_no_sentences_are_no_results(engine: Engine):
    assert engine.translate([]) == [] and engine.traces([]) == []


def test_results_stand_in_the_order_of_the_sentences(ending: Engine):
    sentences = [ENGLISH[4], "", ENGLISH[7], "word " * 2000, ENGLISH[1], "a \ud83d", ENGLISH[1]]
    seen: list[tuple[int, int]] = []
    results = ending.translate(sentences, progress=lambda done, total: seen.append((done, total)))
    assert [result.source for result in results] == sentences
    assert [bool(result.hypotheses) for result in results] == [True, False, True, False, True, False, True]
    tokens = len(ending.tokenizer.source(sentences[3]))
    assert results[3].note == f"the sentence has {tokens:,} tokens; this model reads at most 1,024"
    assert results[5].note == "the text holds half a character (a lone surrogate, place 3)"
    assert results[4] == results[6]
    assert len({results[place].text for place in (0, 2, 4)}) == 3
    assert seen[0] == (3, 7) and seen[-1] == (7, 7) and seen == sorted(seen)


def test_what_progress_raises_ends_the_work(engine: Engine):
    def stop(done: int, total: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        engine.translate(["Hi"], SHORT, progress=stop)


def assert_close_results(found: Translation, expected: Translation) -> None:
    assert found.source == expected.source and found.note == expected.note
    assert [h.ids for h in found.hypotheses] == [h.ids for h in expected.hypotheses]
    for one, other in zip(found.hypotheses, expected.hypotheses, strict=True):
        assert np.allclose(one.logprobs, other.logprobs, rtol=0, atol=1e-4)
        assert abs(one.score - other.score) < 1e-4 and one.finished == other.finished


@pytest.mark.case("B8")
@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(beam=3, n_best=3, max_length=8),
        SearchOptions(method="greedy", max_length=8),
        SearchOptions(method="sample", n_best=2, seed=3, max_length=8),
    ],
    ids=["beam", "greedy", "sample"],
)
def test_the_batch_does_not_change_a_translation(ending: Engine, options: SearchOptions):
    sentences = [*ENGLISH, "Hi", "I see the dog in the street every morning and the cat too."]
    for together, sentence in zip(ending.translate(sentences, options), sentences, strict=True):
        assert_close_results(together, ending.translate([sentence], options)[0])


@pytest.mark.case("B7")
@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(beam=8, n_best=8),
        SearchOptions(beam=4, n_best=4, penalty="average", max_length=3),
        SearchOptions(method="sample", n_best=6, temperature=0.2, seed=1, max_length=3),
    ],
    ids=["beam", "cut short", "sample"],
)
def test_several_translations_all_differ_best_first(ending: Engine, options: SearchOptions):
    for result in ending.translate(ENGLISH[:4], options):
        ids = [hypothesis.ids for hypothesis in result.hypotheses]
        assert len(ids) == len(set(ids)) and 1 <= len(ids) <= options.n_best
        scores = [hypothesis.score for hypothesis in result.hypotheses]
        assert scores == sorted(scores, reverse=True) and result.score == scores[0]


@pytest.mark.case("B4")
@pytest.mark.parametrize("penalty", ["gnmt", "average", "none"])
def test_log_probabilities_are_those_of_a_full_rescoring(ending: Engine, penalty):
    options = SearchOptions(n_best=5, penalty=penalty, max_length=9)
    for result in ending.translate(ENGLISH[:5], options):
        for hypothesis in result.hypotheses:
            full = Full(ending, result.source, hypothesis.ids)
            assert np.abs(np.array(hypothesis.logprobs) - full.of_tokens).max() < 1e-4
            assert hypothesis.logprob == pytest.approx(sum(hypothesis.logprobs), abs=1e-12)
            expected = options.normalise(full.of_tokens.sum(), len(hypothesis.ids))
            assert abs(hypothesis.score - expected) < 1e-4
            assert hypothesis.finished == (hypothesis.ids[-1] == END_ID)
            assert hypothesis.ids.count(END_ID) == hypothesis.finished
            assert hypothesis.text == ending.tokenizer.decode(hypothesis.ids)


def test_the_fixture_ends_some_translations_and_cuts_others(ending: Engine):
    """What the tests above and below stand on."""
    results = ending.translate(ENGLISH, SearchOptions(n_best=5, max_length=9))
    finished = [hypothesis.finished for result in results for hypothesis in result.hypotheses]
    assert any(finished)
    cut = ending.translate(ENGLISH, SearchOptions(method="greedy", max_length=1))
    assert any(result.note == "cut at the length limit of 1 tokens" for result in cut)


def test_a_forced_beginning(ending: Engine):
    begun = tuple(ending.tokenizer.encode("Le chat"))
    options = SearchOptions(n_best=5, max_length=7)
    [result] = ending.translate([ENGLISH[0]], options, prefix="Le chat")
    for hypothesis in result.hypotheses:
        assert hypothesis.ids[: len(begun)] == begun and hypothesis.text.startswith("Le chat")
        assert len(begun) < len(hypothesis.ids) <= len(begun) + 7
        full = Full(ending, result.source, hypothesis.ids).of_tokens
        assert np.abs(np.array(hypothesis.logprobs) - full).max() < 1e-4
        rest = full[len(begun) :]
        assert abs(hypothesis.score - options.normalise(rest.sum(), len(rest))) < 1e-4, "it does not count"
    for nothing in (None, "", "  "):
        assert ending.translate([ENGLISH[0]], options, prefix=nothing) == ending.translate(
            [ENGLISH[0]], options
        )


@pytest.mark.case("B4")
@pytest.mark.case("B10")
@pytest.mark.case("A8")
@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(beam=4, n_best=4, max_length=8),
        SearchOptions(beam=3, n_best=3, penalty="none", stop="first"),
        SearchOptions(method="greedy"),
        SearchOptions(method="sample", n_best=3, seed=2, temperature=1.5, max_length=8),
    ],
    ids=["beam", "first", "greedy", "sample"],
)
def test_a_trace_replays_to_the_full_pass(ending: Engine, engine: Engine, options: SearchOptions):
    for one in (ending, engine):
        trace = one.trace(ENGLISH[2], options)
        trace.validate()
        assert_replays(one, trace, some_nodes(trace))
        assert trace.encoder.shape[0] == one.config.encoder_layers
        assert trace.search.cross.shape[1] == one.config.decoder_layers
        [result] = one.translate([ENGLISH[2]], options)
        assert [trace.token_path(node) for node in trace.hypotheses] == [h.ids for h in result.hypotheses]
        for node, hypothesis in zip(trace.hypotheses, result.hypotheses, strict=True):
            assert abs(trace.search.score[node] - hypothesis.score) < 1e-4
            assert abs(trace.search.cumulative[node] - hypothesis.logprob) < 1e-4
            assert (trace.search.fate[node] == Fate.FINISHED) == hypothesis.finished


@pytest.mark.case("A2")
@pytest.mark.case("M3")
@pytest.mark.parametrize("method", ["beam", "sample"])
def test_traces_of_a_batch_are_those_of_one_by_one(ending: Engine, method):
    """Sixteen sentences from one to sixteen words: the same maps, no padding, rows that sum to 1."""
    words = (ENGLISH[2] + " " + ENGLISH[0]).split(" ")
    sentences = [" ".join(words[:count]) for count in range(1, 17)]
    options = SearchOptions(method=method, beam=2, n_best=2, max_length=5)
    for together, sentence in zip(ending.traces(sentences, options), sentences, strict=True):
        together.validate()
        tokens = len(ending.tokenizer.source(sentence))
        assert len(together.source_tokens) == tokens
        assert together.encoder.shape[-2:] == (tokens, tokens)
        assert together.search.cross.shape[-1] == tokens
        for maps in (together.encoder, together.search.cross, together.search.decoder):
            assert np.abs(maps.sum(-1) - 1).max() < 1e-5
        alone = ending.trace(sentence, options)
        assert_same(together, alone, 1e-4)
        assert close(together.encoder, alone.encoder) and close(together.search.cross, alone.search.cross)


@pytest.mark.case("T9")
def test_labels_of_each_side_spell_that_side(ending: Engine):
    trace = ending.trace("I love  🦊, caf\u0065\u0301!", SHORT)
    assert trace.source == "I love  🦊, café!"
    for token in trace.source_tokens[:-1]:
        assert token.text == trace.source[token.start : token.end]
    for node in trace.hypotheses.tolist():
        text = trace.text(node)
        assert [t.text for t in trace.target_tokens(node) if not t.special] == [
            text[t.start : t.end] for t in trace.target_tokens(node) if not t.special
        ]
        path = trace.path(node)
        assert [token.id for token in path.outputs] == list(trace.token_path(node))
        assert [token.id for token in path.inputs] == [START_ID, *trace.token_path(node)[:-1]]


@pytest.mark.case("T11")
def test_an_accent_written_either_way_is_the_same_trace(ending: Engine):
    assert_same(ending.trace("caf\u00e9", SHORT), ending.trace("cafe\u0301", SHORT), 0)


@pytest.mark.case("T10")
def test_typed_control_tokens_are_translated_as_text(ending: Engine):
    trace = ending.trace("</s> <pad> <s>", SHORT)
    assert [token.special for token in trace.source_tokens] == [False] * (len(trace.source_tokens) - 1) + [
        True
    ]
    assert trace.source_tokens[-1].piece == "</s>"
    with_mark = ending.trace("Hi", SHORT, target="</s>")
    assert with_mark.text(int(with_mark.hypotheses[0])) == "</s>"


@pytest.mark.case("T6")
@pytest.mark.parametrize("record", [(), EXTRAS])
def test_one_token_on_either_side(ending: Engine, record):
    single = next(word for word in ("Le", "a", "!") if len(ending.tokenizer.encode(word)) == 1)
    trace = ending.trace(single, SearchOptions(max_length=1), record=record)
    trace.validate()
    assert len(trace.source_tokens) == 2
    assert trace.path().cross.shape == (3, 4, 1, 2) and trace.path().decoder.shape == (3, 4, 1, 1)
    assert_replays(ending, trace, trace.hypotheses.tolist())


def test_a_forced_target_is_a_chain_that_replays(ending: Engine):
    target = "Le chat a vu le chien."
    trace = ending.trace(ENGLISH[0], target=target)
    trace.validate()
    ids = (*ending.tokenizer.encode(target), END_ID)
    assert trace.token_path(int(trace.hypotheses[0])) == ids
    assert len(trace.search) == len(ids) + 1 == len(trace.search.cross) + 1
    assert trace.search.forced[1:].all() and trace.text(len(ids)) == target
    assert_replays(ending, trace, [len(ids)])
    logprobs = Full(ending, ENGLISH[0], ids).of_tokens
    assert abs(trace.search.score[-1] - SearchOptions().normalise(logprobs.sum(), len(ids))) < 1e-4
    assert trace.header.settings["target"] == target


def test_a_forced_beginning_by_words_or_by_ids_replays(ending: Engine):
    begun = ending.tokenizer.encode("Le chat")
    by_words = ending.trace(ENGLISH[0], SHORT, prefix="Le chat")
    by_ids = ending.trace(ENGLISH[0], SHORT, prefix_ids=np.array(begun))
    for trace in (by_words, by_ids):
        trace.validate()
        length = len(begun)
        assert trace.search.forced[1 : length + 1].all() and not trace.search.forced[length + 1 :].any()
        assert trace.token_path(length) == tuple(begun)
        for node in some_nodes(trace, 6):
            full = Full(ending, trace.source, trace.token_path(node))
            assert close(trace.path(node).cross, full.stack("decoder", "cross", "weights"))
            assert np.abs(trace.path(node).logprobs - full.of_tokens).max() < 1e-4
        best = int(trace.hypotheses[0])
        rest = trace.search.logprob[trace.path(best).nodes][length:]
        assert abs(trace.search.score[best] - SHORT.normalise(rest.sum(), len(rest))) < 1e-6
    assert by_ids.header.settings["prefix_ids"] == begun
    assert [trace.token_path(n) for n in by_words.hypotheses] == [
        trace.token_path(n) for n in by_ids.hypotheses
    ]


def test_continuing_from_any_node_of_a_search(ending: Engine):
    trace = ending.trace(ENGLISH[1], SHORT)
    pruned = [
        node
        for node in range(1, len(trace.search))
        if trace.search.fate[node] == Fate.PRUNED and trace.search.token[node] != END_ID
    ]
    ids = trace.token_path(pruned[-1])
    further = ending.trace(ENGLISH[1], SHORT, prefix_ids=ids)
    assert all(trace_ids[: len(ids)] == ids for trace_ids in map(further.token_path, further.hypotheses))
    assert abs(further.search.logprob[len(ids)] - trace.search.logprob[pruned[-1]]) < 1e-4


def test_what_can_be_recorded_beside_the_weights(ending: Engine):
    config, sentence = ending.config, ENGLISH[3]
    trace = ending.trace(sentence, SearchOptions(beam=2, n_best=2, max_length=5), record=EXTRAS)
    trace.validate()
    source, passes = len(trace.source_tokens), len(trace.search.cross)
    reach = trace.search.decoder.shape[-1]
    heads, width = config.heads, config.head_width
    above, below = config.encoder_layers, config.decoder_layers
    assert {name: points.shape for name, points in trace.extras.items()} == {
        "encoder.scores": (above, heads, source, source),
        "decoder.scores": (passes, below, heads, reach),
        "cross.scores": (passes, below, heads, source),
        **{f"encoder.{what}": (above, heads, source, width) for what in "qkv"},
        **{f"decoder.{what}": (passes, below, heads, width) for what in "qkv"},
        "cross.q": (passes, below, heads, width),
        **{f"cross.{what}": (below, heads, source, width) for what in "kv"},
        "encoder.residual_norm": (1 + 2 * above, source),
        "decoder.residual_norm": (passes, 1 + 3 * below),
        "logits": (passes, config.vocabulary),
    }
    assert all(points.dtype == np.float32 for points in trace.extras.values())
    node = int(trace.hypotheses[-1])
    full, rows = Full(ending, sentence, trace.token_path(node)), trace.path(node).rows
    for what in "qkv":
        assert close(trace.extras[f"encoder.{what}"], full.stack("encoder", "self", what), 1e-4)
        found = trace.extras[f"decoder.{what}"][rows].transpose(1, 2, 0, 3)
        assert close(found, full.stack("decoder", "self", what), 1e-4)
    assert close(
        trace.extras["cross.q"][rows].transpose(1, 2, 0, 3), full.stack("decoder", "cross", "q"), 1e-4
    )
    for what in "kv":
        assert close(trace.extras[f"cross.{what}"], full.stack("decoder", "cross", what), 1e-4)
    assert close(trace.extras["encoder.scores"], full.stack("encoder", "self", "scores"), 1e-4)
    assert close(trace.extras["logits"][rows], full.logits.numpy(), 1e-4)
    for side, found in (
        ("encoder", trace.extras["encoder.residual_norm"]),
        ("decoder", trace.extras["decoder.residual_norm"][rows].T),
    ):
        count = above if side == "encoder" else below
        blocks = ["self", "ffn"] if side == "encoder" else ["self", "cross", "ffn"]
        names = [f"{side}.{layer}.{block}.residual" for layer in range(count) for block in blocks]
        streams = torch.stack([full.recorder[name][0] for name in (f"{side}.embedded", *names)])
        assert close(found, streams.norm(dim=-1).numpy(), 1e-3)


@pytest.mark.parametrize("record", [(), ("scores",), ("q",), ("k",), ("v",), ("residual",), ("logits",)])
def test_only_what_was_asked_for_is_kept(ending: Engine, record):
    trace = ending.trace("Hi", SearchOptions(beam=2, max_length=3), record=record)
    trace.validate()
    assert bool(trace.extras) == bool(record)
    first = {name.rpartition(".")[2] for name in trace.extras}
    assert first == {{"residual": "residual_norm"}.get(name, name) for name in record}


def test_a_trace_is_saved_and_opened_as_it_was(ending: Engine, tmp_path: Path):
    trace = ending.trace(
        ENGLISH[5], SearchOptions(beam=3, n_best=2, max_length=5), prefix="Où", record=EXTRAS
    )
    trace.save(tmp_path / "one.npz")
    assert_same(Trace.load(tmp_path / "one.npz"), trace, 0)
    assert trace.header.model_hash == ending.hash and trace.header.model_name == "ending"
    assert trace.header.settings["beam"] == 3 and trace.header.settings["prefix"] == "Où"


def test_past_the_bound_only_rows_of_the_hypotheses_are_kept(ending: Engine, monkeypatch):
    options = SearchOptions(beam=4, n_best=2, max_length=6)
    whole = ending.trace(ENGLISH[6], options)
    assert whole.rows_kept == "all"
    monkeypatch.setattr(build_trace, "MAX_BYTES", whole.nbytes)
    assert ending.trace(ENGLISH[6], options).rows_kept == "all"
    monkeypatch.setattr(build_trace, "MAX_BYTES", whole.nbytes - 1)
    bounded = ending.trace(ENGLISH[6], options)
    bounded.validate()
    assert bounded.rows_kept == "n-best" and bounded.nbytes < whole.nbytes
    assert_same(bounded, whole.with_n_best_rows_only(), 0)
    assert_replays(ending, bounded, bounded.hypotheses.tolist())
    lost = [
        node
        for node in range(1, len(bounded.search))
        if bounded.search.expanded[bounded.search.parent[node]] < 0
    ]
    with pytest.raises(TraceError, match="was not kept: this trace holds only that of its n-best paths"):
        bounded.path(lost[0])


@pytest.mark.case("A7")
def test_two_sentences_at_once_each_have_their_own_maps(engine: Engine):
    """Forty traces from eight threads on one engine, a translation between them."""
    sentences = [ENGLISH[0], ENGLISH[5]]
    options = SearchOptions(beam=2, max_length=5)
    expected = [engine.trace(sentence, options) for sentence in sentences]

    def work(number: int) -> Trace:
        if number % 5 == 0:
            engine.translate(ENGLISH[:3], options)
        return engine.trace(sentences[number % 2], options)

    with ThreadPoolExecutor(8) as threads:
        for number, trace in enumerate(threads.map(work, range(40))):
            assert_same(trace, expected[number % 2], 1e-6)


def test_a_pass_leaves_nothing_on_the_model(engine: Engine):
    def state(model: Transformer) -> dict[str, object]:
        held: dict[str, object] = {}
        for name, module in model.named_modules():
            held |= {f"{name}.{key}": id(value) for key, value in vars(module).items()}
            held |= {f"{name}.{key}": tensor._version for key, tensor in module._parameters.items()}
        return held

    before = state(engine.model)
    engine.trace(ENGLISH[0], SHORT, record=EXTRAS)
    engine.translate(ENGLISH[:2], SHORT)
    engine.trace("Hi", target="Salut")
    assert state(engine.model) == before


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=12))
def test_any_text_has_a_translation_and_a_valid_trace_or_one_line(engine: Engine, text: str):
    options = SearchOptions(beam=2, max_length=3)
    [result] = engine.translate([text], options)
    if result.hypotheses:
        trace = engine.trace(text, options)
        trace.validate()
        assert trace.source == result.source
        assert "\ufffd" not in "".join(t.label for t in trace.source_tokens)
        assert trace.text(int(trace.hypotheses[0])) == result.text
    else:
        assert not text.strip() and result.note


def test_encoder_output_by_sentence_or_ids(ending: Engine):
    ids = ending.tokenizer.source(ENGLISH[0])
    found = ending.encode(ENGLISH[0])
    assert found.shape == (len(ids), ending.config.width) and found.dtype == np.float32
    assert np.array_equal(found, ending.encode(ids))
    source = torch.tensor([ids])
    with torch.inference_mode():
        memory = ending.model.encode(source, torch.ones_like(source, dtype=torch.bool))[0]
    assert close(found, memory.numpy(), 1e-6)
    assert close(ending.encode(ids, source_positions=ending.positions(len(ids))), found, 1e-6)


def test_positions_are_the_models_own_table(ending: Engine, engine: Engine, tokenizer: Tokenizer):
    assert np.array_equal(ending.positions(5), ending.model.position_table[:5].numpy())
    table = engine.positions(3)
    assert table.shape == (3, 128) and table.dtype == np.float32
    table[:] = 7
    assert engine.positions(3).max() <= 1, "a copy"
    bare = tiny_model(tokenizer, positions="none")
    assert Engine(Bundle("bare", "en", "fr", bare, tokenizer), torch.device("cpu")).positions(3) is None


def test_a_table_of_zeros_is_no_positions_at_all(engine: Engine, tokenizer: Tokenizer):
    """The encoder alone changes: the decoder keeps its positions."""
    zeros = np.zeros((40, 128), np.float32)
    bare = tiny_model(tokenizer, positions="none")
    bare.load_state_dict(engine.model.state_dict())
    alone = Engine(Bundle("bare", "en", "fr", bare, tokenizer), torch.device("cpu"))
    assert close(engine.encode(ENGLISH[0], source_positions=zeros), alone.encode(ENGLISH[0]))
    [own] = engine.translate([ENGLISH[0]], SHORT)
    [table] = engine.translate([ENGLISH[0]], SHORT, source_positions=engine.positions(40))
    [none] = engine.translate([ENGLISH[0]], SHORT, source_positions=zeros)
    assert_close_results(table, own)
    assert not np.allclose(none.hypotheses[0].logprobs, own.hypotheses[0].logprobs, atol=1e-3)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((50, 64)), r"must have shape \(P, 128\) with P of at least \d+, not \(50, 64\)"),
        (np.zeros(128), r"must have shape \(P, 128\) with P of at least \d+, not \(128,\)"),
        (np.zeros((2, 128)), r"must have shape \(P, 128\) with P of at least \d+, not \(2, 128\)"),
        (np.full((50, 128), np.nan), "holds values that are not finite"),
    ],
)
def test_a_table_that_does_not_fit_is_one_line(engine: Engine, table, message):
    with pytest.raises(OptionsError, match=f"^source_positions {message}$"):
        engine.translate(ENGLISH[:2], SHORT, source_positions=table)
    with pytest.raises(OptionsError, match=f"^source_positions {message}$"):
        engine.encode(ENGLISH[0], source_positions=table)


def test_what_an_engine_refuses_is_one_line(engine: Engine):
    def line(kind: type[AtlasError], *sentence: str, **arguments) -> str:
        with pytest.raises(kind) as caught:
            engine.trace(*(sentence or ("Hi",)), **arguments)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert line(OptionsError, record=("maps",)) == (
        "cannot record 'maps'; known are scores, q, k, v, residual, logits"
    )
    assert line(SentenceTooLong, "word " * 2000).endswith(" tokens; this model reads at most 1,024")
    assert line(EmptySentence, target=" \n") == "the forced translation is empty"
    assert "at most 1023" in line(OptionsError, target="a " * 2000)
    assert "at most 1023" in line(OptionsError, prefix="a " * 2000)
    assert "goes with one sentence" in line(OptionsError, target="a", prefix="b")
    assert "not as both" in line(OptionsError, prefix="a", prefix_ids=[9])
    assert "half a character" in line(TokenizerError, "\udcff")
    for ids in ([-1], [400], [2**70]):
        assert line(TokenizerError, prefix_ids=ids).startswith(f"no token has the id {ids[0]};")
    for ids in ([0], [1], [2], [9, END_ID]):
        assert line(OptionsError, prefix_ids=ids) == "a forced beginning cannot contain control tokens"
    with pytest.raises(OptionsError, match="goes with one sentence"):
        engine.traces(["a", "b"], target="c")
    for ids, kind in (([], EmptySentence), ([400], TokenizerError), ([5] * 1025, TooLongError)):
        with pytest.raises(kind):
            engine.encode(ids)


@pytest.mark.parametrize("attention", ["none", "additive", "dot"])
def test_recurrent_models_come_through_the_same_door(
    attention: str, recurrent_bundles: dict[str, Path], tmp_path: Path
) -> None:
    engine = Engine.load(recurrent_bundles[attention], "cpu")
    options = SearchOptions(beam=3, n_best=3, max_length=8)
    trace = engine.trace(ENGLISH[0], options, record=("scores", "logits"))
    trace.validate()
    cross = () if attention == "none" else ("cross",)
    assert trace.kinds == cross
    trace.save(tmp_path / "old.npz")
    again = Trace.load(tmp_path / "old.npz")
    assert again.kinds == cross
    [translation] = engine.translate([ENGLISH[0]], options)
    best = int(trace.hypotheses[0])
    assert trace.token_path(best) == translation.hypotheses[0].ids
    if cross:
        path = again.path(best)
        assert path.cross.shape == (1, 1, len(path.nodes), len(trace.source_tokens))
        np.testing.assert_allclose(path.cross.sum(-1), 1, atol=1e-5)
    forced = engine.trace(ENGLISH[0], options, target=FRENCH[0])
    assert forced.text(int(forced.hypotheses[0])) == FRENCH[0]
    with pytest.raises(match=f"^{attention}: a recurrent model"):
        _ = engine.model
    with pytest.raises(OptionsError, match="cannot record 'q'; known are scores, logits"):
        engine.trace(ENGLISH[0], record=("q",))
    with pytest.raises(AtlasError, match="no position encoding"):
        engine.encode(ENGLISH[0], source_positions=np.zeros((40, 16), np.float32))
    assert engine.positions(4) is None
    assert engine.encode(ENGLISH[0]).shape == (len(trace.source_tokens), 24)


def test_an_edited_search_says_so_and_is_another_one(engine: Engine) -> None:
    plain = engine.trace(ENGLISH[0], SHORT)
    uniform = {f"decoder.{layer}.cross.scores": lambda scores: scores * 0 for layer in range(2)}
    edited = engine.trace(ENGLISH[0], SHORT, edits=uniform)
    edited.validate()
    assert "edited" not in plain.header.settings
    assert edited.header.settings["edited"] == sorted(uniform)
    source = len(edited.source_tokens)
    np.testing.assert_allclose(edited.search.cross, 1 / source, atol=1e-6)
    assert np.ptp(plain.search.cross, axis=-1).max() > 1e-3
    same = engine.trace(ENGLISH[0], SHORT, edits=dict.fromkeys(uniform, torch.clone))
    np.testing.assert_array_equal(same.search.token, plain.search.token)
    np.testing.assert_allclose(same.search.cumulative, plain.search.cumulative, atol=1e-4)
