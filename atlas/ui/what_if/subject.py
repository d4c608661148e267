"""What the What if page works on: the sentence and its best translation as trained."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.trace import Trace
from atlas.ui.page import Page
from atlas.ui.what_if.row import Axes


@dataclass(frozen=True)
class Subject:
    """The sentence and the translation that every change is held against.

    Attributes:
        trace: the search as trained.
        node: the end of its best hypothesis.
        source: S ids of the sentence, end mark included.
        target: T ids of the translation, end mark included unless it was cut.
        labels: T, what each step predicts.
    """

    trace: Trace
    node: int
    source: tuple[int, ...]
    target: tuple[int, ...]
    labels: tuple[str, ...]

    @property
    def text(self) -> str:
        """The translation."""
        return self.trace.text(self.node)

    def axes(self, page: Page) -> Axes:
        """Labels of rows and columns of each kind of attention."""
        path = self.trace.path(self.node)
        source = tuple(token.label for token in self.trace.source_tokens)
        read = tuple(token.label for token in path.inputs)
        config = page.model.config
        return Axes(
            queries={"encoder": source, "decoder": self.labels, "cross": self.labels},
            keys={"encoder": source, "decoder": read, "cross": source},
            layers=dict(config.attention_layers),
            heads=config.heads,
        )


def subject_of(page: Page) -> Subject:
    """The subject of the page; where there is none (nothing to translate, nothing found), the page ends."""
    trace = page.trace
    if not len(trace.hypotheses):
        page.stop("The search found no translation; a longer length limit may help.")
    node = int(trace.hypotheses[0])
    labels = tuple(token.label for token in trace.path(node).outputs)
    source = tuple(page.model.tokenizer.source(trace.source))
    return Subject(trace, node, source, trace.token_path(node), labels)
