"""What a model learns that was trained without the causal mask: to copy the answer that it can see.

Both models read the same development pairs under teacher forcing, in three ways:

- *visible*: the whole target is read at once, as in training. Behind a causal mask no position sees what it
  is to predict; without one, every position sees it one place to the right.
- *hidden*: each prediction is made from a target cut off before the answer; a model without a mask sees what
  is left in both directions, as in its training.
- *replaced*: every piece of the target is swapped for one drawn from the targets of its batch, which no
  knowledge of language could predict better than by its frequency. What more is predicted right was copied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from atlas.analysis.histories import History
from atlas.errors import AtlasError
from atlas.measurements import Measurement
from atlas.model.transformer import Transformer
from atlas.text.batches import Batch, EncodedPairs
from atlas.text.tokenizer import PAD_ID, SPECIAL_IDS

Report = Callable[[int, int], None]

NAME = "leak"
"""Of the measurement in a bundle."""
CURVES = ("step", "train_loss", "development_loss", "bleu")
"""Columns of ``history.csv`` that are kept."""
SENTENCES = (
    "A dog runs across the grass.",
    "Two children are playing with a red ball.",
    "A man in a blue shirt is riding a bicycle.",
    "A woman is reading a book on a bench.",
    "Three people are walking down a busy street.",
    "A girl in a yellow dress jumps into the water.",
    "An old man sells fruit at a market.",
    "A black cat sleeps next to a window.",
)
"""Sentences of this project, in the manner of picture captions, for translations to be compared on."""


class LeakError(AtlasError):
    """Two models or a history that cannot be compared."""


@dataclass(frozen=True)
class NextToken:
    """How well a model predicts the next token of development pairs.

    Attributes:
        loss_visible: nats a token, the whole target read at once.
        loss_hidden: nats a token, each target cut off before the answer.
        right_visible: share of tokens whose likeliest prediction is right, whole target read.
        right_hidden: the same with the answer cut off.
        copied: share of randomly drawn tokens that are predicted right when they can be seen.
        tokens: predicted, end marks included.
        pairs: sentences.
    """

    loss_visible: float
    loss_hidden: float
    right_visible: float
    right_hidden: float
    copied: float
    tokens: int
    pairs: int


@dataclass(frozen=True)
class Side:
    """One of the two models.

    Attributes:
        name: of its bundle; hash: of its weights, tokenizer and options.
        steps: updates in its training.
        next: see :class:`NextToken`.
        history: columns :data:`CURVES`, an array each, one entry an evaluation.
        greedy: its translations of the sentences by greedy search.
        beam: the same by beam search.
    """

    name: str
    hash: str
    steps: int
    next: NextToken
    history: Mapping[str, NDArray[np.float64]]
    greedy: tuple[str, ...]
    beam: tuple[str, ...]

    @property
    def last(self) -> dict[str, float]:
        """The last evaluation of the history."""
        return {name: float(column[-1]) for name, column in self.history.items()}

    def at(self, step: float) -> dict[str, float]:
        """The evaluation nearest to a step."""
        place = int(np.abs(self.history["step"] - step).argmin())
        return {name: float(column[place]) for name, column in self.history.items()}


@dataclass(frozen=True)
class LeakStudy:
    """The model without a mask beside the one with it.

    Attributes:
        without: trained without the mask; baseline: the same recipe with it.
        sentences: that both translated.
        corpus: that the development pairs are from.
    """

    without: Side
    baseline: Side
    sentences: tuple[str, ...]
    corpus: str

    def measurement(self, command: str) -> Measurement:
        """To be kept in the baseline's bundle. ``command`` prints it again."""
        facts: dict[str, Any] = {"sentences": list(self.sentences), "corpus": self.corpus}
        arrays: dict[str, NDArray[np.float64]] = {}
        for which, side in (("without", self.without), ("baseline", self.baseline)):
            facts[which] = {name: value for name, value in asdict(side).items() if name != "history"}
            arrays |= {f"{which}.{name}": column for name, column in side.history.items()}
        return Measurement(NAME, self.baseline.hash, command, facts, arrays)

    @classmethod
    def read(cls, measurement: Measurement) -> LeakStudy:
        """The way back.

        Raises:
            LeakError: something is missing in it.
        """
        try:
            sides = {which: _side(measurement, which) for which in ("without", "baseline")}
            facts = measurement.facts
            return cls(sides["without"], sides["baseline"], tuple(facts["sentences"]), str(facts["corpus"]))
        except (KeyError, TypeError, ValueError) as error:
            raise LeakError(
                f"the measurement {NAME!r} is incomplete ({error}): {measurement.command}"
            ) from error


def _side(measurement: Measurement, which: str) -> Side:
    facts = measurement.facts[which]
    return Side(
        name=str(facts["name"]),
        hash=str(facts["hash"]),
        steps=int(facts["steps"]),
        next=NextToken(**facts["next"]),
        history={name: measurement.arrays[f"{which}.{name}"] for name in CURVES},
        greedy=tuple(facts["greedy"]),
        beam=tuple(facts["beam"]),
    )


def curves(history: History) -> dict[str, NDArray[np.float64]]:
    """The columns :data:`CURVES` of a run.

    Raises:
        LeakError: one is missing, or has an evaluation without a number.
    """
    for column in CURVES:
        if column not in history.columns or not np.isfinite(history.columns[column]).all():
            raise LeakError(f"{history.name}: its history lacks {column}, or a number of it")
    return {column: history.columns[column] for column in CURVES}


@torch.inference_mode()
def next_token(
    model: Transformer,
    pairs: EncodedPairs,
    *,
    seed: int = 0,
    tokens: int = 4000,
    report: Report = lambda done, total: None,
) -> NextToken:
    """Measure a model, causal or not, in evaluation mode, on encoded pairs.

    Args:
        seed: of the tokens drawn.
        tokens: padded size of a batch.
        report: called with pairs done and pairs in all.

    Raises:
        LeakError: there are no pairs.
    """
    if not len(pairs):
        raise LeakError("there are no development pairs to measure on")
    random = torch.Generator().manual_seed(seed)
    sums = np.zeros(4)
    count = copied = replaced = done = 0
    for numbers in pairs.order(tokens, seed=0, epoch=0):
        batch = pairs.batch(numbers).to(model.device)
        mask = batch.source != PAD_ID
        memory = model.encode(batch.source, mask)
        sums += [*_visible(model, batch, memory, mask), *_hidden(model, batch, memory, mask)]
        found, of = _copied(model, batch, memory, mask, random)
        copied, replaced, count = copied + found, replaced + of, count + batch.tokens
        done += len(numbers)
        report(done, len(pairs))
    loss_visible, right_visible, loss_hidden, right_hidden = (sums / count).tolist()
    return NextToken(
        loss_visible, loss_hidden, right_visible, right_hidden, copied / max(replaced, 1), count, len(pairs)
    )


def _judge(logits: Tensor, labels: Tensor) -> tuple[float, float]:
    """Summed loss in nats and number of right predictions: ``(N, V)``, ``(N,)``."""
    loss = torch.nn.functional.cross_entropy(logits.float(), labels, reduction="sum")
    return float(loss), float((logits.argmax(-1) == labels).sum())


def _visible(model: Transformer, batch: Batch, memory: Tensor, mask: Tensor) -> tuple[float, float]:
    """The whole target at once, masked as in training."""
    read, labels = batch.target[:, :-1], batch.target[:, 1:]
    stream = model.decode(read, memory, mask, target_mask=read != PAD_ID)
    real = labels != PAD_ID
    return _judge(model.logits(stream[real]), labels[real])


def _hidden(model: Transformer, batch: Batch, memory: Tensor, mask: Tensor) -> tuple[float, float]:
    """Each prediction from a target that ends before it."""
    labels = batch.target[:, 1:]
    loss = right = 0.0
    for length in range(1, labels.shape[1] + 1):
        rows = labels[:, length - 1] != PAD_ID
        read = batch.target[rows, :length]
        stream = model.decode(read, memory[rows], mask[rows])
        more = _judge(model.logits(stream[:, -1]), labels[rows, length - 1])
        loss, right = loss + more[0], right + more[1]
    return loss, right


def _copied(
    model: Transformer, batch: Batch, memory: Tensor, mask: Tensor, random: torch.Generator
) -> tuple[int, int]:
    """Drawn tokens predicted by the position before them, and how many there were."""
    read = batch.target[:, :-1]
    piece = read > max(SPECIAL_IDS)
    all_pieces = read[piece]
    drawn = torch.randint(len(all_pieces), read.shape, generator=random).to(read.device)
    read = torch.where(piece, all_pieces[drawn], read)
    stream = model.decode(read, memory, mask, target_mask=read != PAD_ID)
    before = piece[:, 1:]
    guesses = model.logits(stream[:, :-1][before]).argmax(-1)
    return int((guesses == read[:, 1:][before]).sum()), int(before.sum())


def check_comparable(without: Transformer, baseline: Transformer) -> None:
    """Refuse two models that do not differ in the mask.

    Raises:
        LeakError: the first has a causal mask, or the second has none.
    """
    if without.config.causal:
        raise LeakError(
            "the first model was trained with a causal mask; give one trained with causal = false"
        )
    if not baseline.config.causal:
        raise LeakError("the baseline was trained without a causal mask too; it must have one")
