"""The sentences that the Heads page shows heads at work on: those of the corpus, or some of our own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from atlas.analysis.heads import links, own, record
from atlas.analysis.heads.accumulate import Gathered, gather
from atlas.analysis.heads.links import Links
from atlas.analysis.heads.record import HeadAtlas
from atlas.analysis.heads.sample import HeldOut, held_out, sample_of
from atlas.engine import Engine
from atlas.errors import AtlasError
from atlas.trace.views import Kind
from atlas.ui.heads.measured import Measured
from atlas.ui.page import Page


@dataclass(frozen=True)
class Sentences:
    """A sample and what heads do in it.

    Attributes:
        sample: the sentences.
        links: what heads look at in them.
        note: where they are from, a line.
        gathered: metrics of each sentence, for sentences that the bundle was not measured on.
    """

    sample: HeldOut
    links: Links
    note: str
    gathered: Mapping[Kind, Gathered] = field(default_factory=dict)

    def typical(self, heads: HeadAtlas, kind: Kind, layer: int, head: int) -> tuple[int, ...]:
        """Numbers of the sentences that are most typical of a head."""
        if kind not in self.gathered:
            return heads.typical(kind, layer, head)
        rule = heads.rule(kind, layer, head)
        return tuple(record.typical(self.gathered[kind], self.sample, rule, layer, head))


def sentences_of(page: Page, found: Measured) -> Sentences:
    """The sentences that were measured, where their corpus is on this machine; else sentences of our own,
    with a line that says so.
    """
    return page.study("heads.sentences", find=lambda engine: _find(engine, found))


def _find(engine: Engine, found: Measured) -> Sentences:
    try:
        return _corpus(engine, found)
    except AtlasError as error:
        if (engine.source_language, engine.target_language) != ("en", "fr"):
            raise
        sample = sample_of(engine.tokenizer, "our own", own.PAIRS)
        looked = links.measure(engine, sample, work=Path())
        note = (
            f"{len(sample)} sentences of our own are shown: those that were measured are in a corpus that is "
            f"not shipped ({error})"
        )
        return Sentences(
            sample,
            Links.of(looked, sample, engine.tokenizer),
            note,
            gather(engine.model, engine.tokenizer, sample),
        )


def _corpus(engine: Engine, found: Measured) -> Sentences:
    sample = held_out(engine.bundle, None, found.heads.sentences)
    if sample.digest != found.heads.digest:
        raise AtlasError(f"the {sample.corpus} that is here is another than the one that was measured")
    kept = found.links or links.measure(engine, sample, work=Path())
    note = f"{len(sample):,} held-out sentences of {sample.corpus}"
    return Sentences(sample, Links.of(kept, sample, engine.tokenizer), note)
