"""Synthetic traces for tests: random numbers in a shape that a real run could have left.

``make_trace()`` plays a small beam search over a made-up language model, so parents, fates, ranks and shared
attention rows hang together as in a real search, and the result always validates.
"""

from __future__ import annotations

import unicodedata
import zlib
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

import atlas
from atlas.trace import SCHEMA_VERSION, Fate, Header, Search, Token, Trace, label_tokens
from atlas.trace.pieces import encode_text
from atlas.trace.segment import word_spans

SOURCE = "The animal didn't cross the street because it was too tired."
TARGET = "L'animal n'a pas traversé la rue parce qu'il était trop fatigué."
REPEATED = "the cat saw the dog and the cat"
HTML_LIKE = "<s> <b>x</b> &lt; <img src=x onerror=alert(1)> </script> $x$"
EMOJI = "I love 🦊 and you."

PAD, START, END = 0, 1, 2
SPECIAL = {PAD: "<pad>", START: "<s>", END: "</s>"}
TOP = 10


def split_pieces(text: str, seed: int = 0, *, split_bytes: bool = True) -> list[str]:
    """Byte-level pieces of ``" " + text``: some words cut in two; emoji cut into bytes if ``split_bytes``."""
    spaced = " " + unicodedata.normalize("NFC", text)
    starts = sorted({0, *(start for start, _ in word_spans(spaced)), *(end for _, end in word_spans(spaced))})
    pieces: list[str] = []
    for start, end in zip(starts, [*starts[1:], len(spaced)], strict=True):
        chunk = spaced[start:end]
        lead = pieces.pop() if pieces and pieces[-1] == "Ġ" and not chunk[0].isspace() else ""
        rare = [character for character in chunk if ord(character) > 0x2FFF]
        if rare and split_bytes:
            letters = list(encode_text(chunk))
            pieces += [lead + letters[0], *letters[1:]]
        elif len(chunk) > 5 and zlib.crc32(f"{seed}{chunk}".encode()) % 2:
            pieces += [lead + encode_text(chunk[:3]), encode_text(chunk[3:])]
        else:
            pieces.append(lead + encode_text(chunk))
    return [piece for piece in pieces if piece]


def piece_id(piece: str) -> int:
    """A stable id for a piece, the same in every trace."""
    return 3 + zlib.crc32(piece.encode()) % 1_000_000


def make_tokens(text: str, seed: int = 0) -> tuple[Token, ...]:
    """Source tokens of ``text``, the end mark last."""
    pieces = split_pieces(text, seed) if text else []
    ids = [piece_id(piece) for piece in pieces]
    return label_tokens(unicodedata.normalize("NFC", text), [*pieces, SPECIAL[END]], [*ids, END], SPECIAL)


def make_trace(
    source: str = SOURCE,
    target: str = TARGET,
    *,
    layers: tuple[int, int] = (3, 2),
    heads: int = 4,
    beam: int = 3,
    alpha: float = 0.6,
    n_best: int = 2,
    seed: int = 0,
    scores: bool = True,
    extras: bool = False,
    duplicate_heads: bool = False,
    forced: int = 0,
) -> Trace:
    """A random but valid trace whose best hypothesis spells ``target``.

    Args:
        source: the sentence; ``"Hi"`` gives one token and the end mark.
        target: what the best hypothesis says; ``""`` ends at once.
        layers: depth of the encoder and of the decoder.
        heads: heads in every layer.
        beam: width; 1 is greedy. With 2 or more, the search has nodes of all four fates.
        alpha: strength of the GNMT length penalty.
        n_best: at most this many hypotheses.
        seed: of every random number.
        scores: whether scores before softmax are among the extras.
        extras: whether q, k, v, residual norms and logits are too.
        duplicate_heads: whether all heads of a layer have the same map.
        forced: number of first target tokens that count as the user's.
    """
    rng = np.random.default_rng(seed)
    source_tokens = make_tokens(source, seed)
    search, hypotheses, vocabulary = _play(target, beam, alpha, n_best, forced, rng)
    sources, passes = len(source_tokens), int(search["expanded"].max()) + 1
    steps = np.empty(passes, np.int64)
    read = search["expanded"] >= 0
    steps[search["expanded"][read]] = search["step"][read]
    reach = int(steps.max()) + 1
    points: dict[str, NDArray[np.float32]] = {}
    share = 1 if duplicate_heads else heads
    raw = {
        "encoder": _normal(rng, layers[0], share, sources, sources),
        "cross": _normal(rng, passes, layers[1], share, sources),
        "decoder": _normal(rng, passes, layers[1], share, reach),
    }
    unseen = np.arange(reach) > steps[:, None, None, None]
    raw["decoder"] = np.where(unseen, np.float32(-np.inf), raw["decoder"])
    raw = {
        name: np.ascontiguousarray(np.repeat(values, heads // share, axis=1 if name == "encoder" else 2))
        for name, values in raw.items()
    }
    if scores:
        points |= {f"{name}.scores": values for name, values in raw.items()}
    if extras:
        points |= _more_extras(rng, layers, heads, sources, passes)
    weights = {name: _softmax(values) for name, values in raw.items()}
    return Trace(
        header=Header(
            SCHEMA_VERSION, atlas.__version__, "synthetic", f"{seed:08x}", "en", "fr",
            {"method": "beam" if beam > 1 else "greedy", "beam": beam, "penalty": "gnmt", "alpha": alpha,
            "seed": seed},
        ),
        source=unicodedata.normalize("NFC", source),
        source_tokens=source_tokens,
        encoder=weights["encoder"],
        search=Search(**search, cross=weights["cross"], decoder=weights["decoder"]),
        hypotheses=hypotheses,
        vocabulary=vocabulary,
        special_ids=frozenset(SPECIAL),
        end_id=END,
        extras=points,
    )  # fmt: skip


def _play(
    target: str, beam: int, alpha: float, n_best: int, forced: int, rng: np.random.Generator
) -> tuple[dict[str, Any], NDArray[np.int32], dict[int, str]]:
    """The beam search: 2 * beam candidates a step, live and finished apart, until the target has ended."""
    pieces = split_pieces(target) if target else []
    gold = [*(piece_id(piece) for piece in pieces), END]
    filler = ["Ġle", "Ġchat", "Ġune", "s", "Ġde", "Ġdormir", "ment", "Ġpetit", "'", ",", "Ġbien", "er"]
    vocabulary = {piece_id(piece): piece for piece in [*filler, *pieces]} | SPECIAL
    choices = [number for number in vocabulary if number not in (PAD, START)]
    rows: dict[str, list[Any]] = {name: [] for name in (
        "parent", "token", "logprob", "cumulative", "score", "step", "rank", "fate", "forced", "expanded"
    )}  # fmt: skip
    tops: list[tuple[list[int], list[float]]] = []

    def add(**values: Any) -> int:
        for name, value in values.items():
            rows[name].append(value)
        return len(rows["parent"]) - 1

    root = {
        "parent": -1,
        "token": START,
        "logprob": 0.0,
        "cumulative": 0.0,
        "score": 0.0,
        "step": 0,
        "rank": 0,
    }
    live = [add(**root, fate=Fate.KEPT, forced=False, expanded=-1)]
    on_target, ended = 0, []
    for step in range(1, len(gold) + 1):
        candidates = []
        for node in live:
            rows["expanded"][node] = len(tops)
            logits = rng.normal(size=len(choices)) * 1.5
            logits[choices.index(END)] += 0.5 if step > 2 else -6.0 if len(gold) > 2 else 0.0
            logits[choices.index(gold[step - 1])] += 9.0 if node == on_target else 0.0
            logprobs = logits - np.log(np.exp(logits).sum())
            order = np.argsort(-logprobs)[:TOP]
            tops.append(([choices[index] for index in order], [float(logprobs[index]) for index in order]))
            so_far = rows["cumulative"][node]
            candidates += [(so_far + logprobs[i], node, choices[i], logprobs[i]) for i in order]
        candidates.sort(key=lambda candidate: (-candidate[0], candidate[1], candidate[2]))
        parents, live = live, []
        for rank, (cumulative, parent, token, logprob) in enumerate(candidates[: max(2 * beam, 4)]):
            room = len(live) < beam
            last = step == len(gold)
            if token == END and rank < 2 * beam:
                fate = Fate.FINISHED
            else:
                fate = Fate.PRUNED if not room or token == END else Fate.CUT if last else Fate.KEPT
            node = add(
                parent=parent, token=token, logprob=float(logprob), cumulative=float(cumulative),
                score=float(cumulative / ((5 + step) / 6) ** alpha), step=step, rank=rank, fate=fate,
                forced=step <= forced and parent == on_target and token == gold[step - 1], expanded=-1,
            )  # fmt: skip
            if fate in (Fate.KEPT, Fate.CUT):
                live.append(node)
            if fate in (Fate.FINISHED, Fate.CUT):
                ended.append(node)
            if parent == on_target and token == gold[step - 1]:
                followed = node
        assert followed in live or followed in ended, parents
        on_target = followed
    others = sorted((node for node in ended if node != on_target), key=lambda node: -rows["score"][node])
    best = max([on_target, *others], key=lambda node: rows["score"][node])
    assert best == on_target, "the target is not the best hypothesis: raise its bonus"
    kinds: dict[str, Any] = {"fate": np.int8, "forced": np.bool_}
    kinds |= dict.fromkeys(("logprob", "cumulative", "score"), np.float64)
    search: dict[str, Any] = {
        name: np.array(values, kinds.get(name, np.int32)) for name, values in rows.items()
    }
    search["top_ids"] = np.array([ids for ids, _ in tops], np.int32)
    search["top_logprobs"] = np.array([logprobs for _, logprobs in tops], np.float32)
    return search, np.array([on_target, *others][:n_best], np.int32), vocabulary


def _more_extras(
    rng: np.random.Generator, layers: tuple[int, int], heads: int, sources: int, passes: int, width: int = 8
) -> dict[str, NDArray[np.float32]]:
    """q, k, v, residual norms and logits."""
    points: dict[str, NDArray[np.float32]] = {}
    for name in "qkv":
        points[f"encoder.{name}"] = _normal(rng, layers[0], heads, sources, width)
        points[f"decoder.{name}"] = _normal(rng, passes, layers[1], heads, width)
    points["cross.q"] = _normal(rng, passes, layers[1], heads, width)
    points["cross.k"] = _normal(rng, layers[1], heads, sources, width)
    points["cross.v"] = _normal(rng, layers[1], heads, sources, width)
    points["encoder.residual_norm"] = np.abs(_normal(rng, 2 * layers[0] + 1, sources))
    points["decoder.residual_norm"] = np.abs(_normal(rng, passes, 3 * layers[1] + 1))
    points["logits"] = _normal(rng, passes, 50)
    return points


def _normal(rng: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    return (2 * rng.normal(size=shape)).astype(np.float32)


def _softmax(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    powers = np.exp((scores - scores.max(-1, keepdims=True)).astype(np.float64))
    return (powers / powers.sum(-1, keepdims=True)).astype(np.float32)


def same(first: Trace, second: Trace) -> bool:
    """Whether two traces hold exactly the same."""
    apart = ("search", "encoder", "hypotheses", "extras")
    plain = [field.name for field in fields(Trace) if field.name not in apart]
    if first.extras.keys() != second.extras.keys():
        return False
    arrays: list[tuple[NDArray[Any], NDArray[Any]]] = [(first.encoder, second.encoder)]
    arrays.append((first.hypotheses, second.hypotheses))
    arrays += [(first.extras[name], second.extras[name]) for name in first.extras]
    arrays += [
        (getattr(first.search, field.name), getattr(second.search, field.name)) for field in fields(Search)
    ]
    return all(getattr(first, name) == getattr(second, name) for name in plain) and all(
        one.dtype == two.dtype and np.array_equal(one, two) for one, two in arrays
    )
