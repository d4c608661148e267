"""The one door to a model for the app, the command line and notebooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from atlas.build_trace import build_trace
from atlas.checkpoint import Bundle, load_bundle
from atlas.decoding import (
    Found,
    OptionsError,
    Recording,
    SearchOptions,
    SearchResult,
    force_target,
    translate_ids,
)
from atlas.decoding.bulk import search
from atlas.errors import AtlasError
from atlas.model import Transformer, pick_device
from atlas.model.config import TransformerConfig
from atlas.model.family import Model, ModelConfig
from atlas.model.recorder import Edit, check_edits
from atlas.text.batches import pad
from atlas.text.tokenizer import PAD_ID, Tokenizer, normalise
from atlas.trace import Trace
from atlas.translation import EmptySentence, Hypothesis, SentenceTooLong, Translation, read_sentence

__all__ = ["EXTRAS", "EmptySentence", "Engine", "Hypothesis", "SentenceTooLong", "Translation"]

EXTRAS = TransformerConfig.recordable
"""What a trace can hold beside attention weights."""


class Engine:
    """A loaded bundle. Its methods keep nothing between calls, so several threads may share one engine."""

    def __init__(self, bundle: Bundle, device: torch.device) -> None:
        self._bundle = bundle
        self._model = bundle.model.to(device).eval().requires_grad_(False)
        self.device = device

    @classmethod
    def load(cls, path: str | Path, device: str | None = None) -> Engine:
        """Open a bundle on a device (by default the best there is, see :func:`~atlas.model.pick_device`).

        Raises:
            BundleError: the folder is not a whole bundle.
            DeviceError: the device does not exist here.
        """
        where = pick_device(device)
        return cls(load_bundle(Path(path), where), where)

    @property
    def name(self) -> str:
        """The bundle's name."""
        return self._bundle.name

    @property
    def hash(self) -> str:
        """SHA-256 over weights, tokenizer and options: equal for equal models."""
        return self._bundle.hash

    @property
    def config(self) -> ModelConfig:
        """The model's sizes and options."""
        return self._model.config

    @property
    def model(self) -> Transformer:
        """The Transformer itself, in evaluation mode.

        Raises:
            BundleError: the bundle holds a recurrent model.
        """
        return self._bundle.transformer

    @property
    def network(self) -> Model:
        """The model itself, of whatever architecture, in evaluation mode."""
        return self._model

    @property
    def tokenizer(self) -> Tokenizer:
        """The joint tokenizer of both languages."""
        return self._bundle.tokenizer

    @property
    def source_language(self) -> str:
        """Language code of what the model reads."""
        return self._bundle.source_language

    @property
    def target_language(self) -> str:
        """Language code of what the model writes."""
        return self._bundle.target_language

    @property
    def card(self) -> str:
        """The bundle's card, Markdown."""
        return self._bundle.card

    @property
    def history(self) -> str:
        """The bundle's training history, CSV."""
        return self._bundle.history

    @property
    def bundle(self) -> Bundle:
        """What was loaded, with how it was trained."""
        return self._bundle

    @property
    def folder(self) -> Path | None:
        """The bundle's folder; None for a model that was never stored."""
        return self._bundle.folder

    @property
    def parameters(self) -> int:
        """Number of weights, tied ones once."""
        return sum(parameter.numel() for parameter in self._model.parameters())

    def translate(
        self,
        sentences: Sequence[str],
        options: SearchOptions = SearchOptions(),
        prefix: str | None = None,
        progress: Callable[[int, int], None] | None = None,
        source_positions: NDArray[np.float32] | None = None,
    ) -> list[Translation]:
        """Translate without recording, in batches of sentences of similar length.

        Args:
            prefix: words that every translation must begin with.
            progress: called with sentences done and sentences in all, at the start and after each batch;
                what it raises ends the work.
            source_positions: ``(P, D)``, used instead of the encoder's position table.

        Returns:
            one :class:`Translation` for each sentence, in order; one that cannot be read (empty, too long,
            half a character in it) has no hypotheses and a note.

        Raises:
            OptionsError: ``source_positions`` does not fit, or the prefix leaves no room.
        """
        read = [self._read(sentence) for sentence in sentences]
        good = [index for index, (_, _, problem) in enumerate(read) if problem is None]
        skipped = len(read) - len(good)

        def report(done: int, _: int) -> None:
            if progress is not None:
                progress(done + skipped, len(read))

        longest = max((len(read[index][1]) for index in good), default=0)
        found = translate_ids(
            self._model,
            [read[index][1] for index in good],
            options,
            prefix=self._prefix(prefix),
            positions=self._table(source_positions, longest),
            progress=report,
        )
        results = [Translation(text, (), str(problem)) for text, _, problem in read]
        for index, hypotheses in zip(good, found, strict=True):
            cut = (
                None
                if hypotheses[0].finished
                else f"cut at the length limit of {len(hypotheses[0].ids)} tokens"
            )
            results[index] = Translation(
                read[index][0], tuple(self._hypothesis(item) for item in hypotheses), cut
            )
        return results

    def trace(
        self,
        sentence: str,
        options: SearchOptions = SearchOptions(),
        target: str | None = None,
        prefix: str | None = None,
        prefix_ids: Sequence[int] | None = None,
        record: Sequence[str] = ("scores",),
        edits: Mapping[str, Edit] | None = None,
    ) -> Trace:
        """Translate one sentence and record everything that was looked at.

        Args:
            target: a translation of your own; the model then reads it instead of searching (teacher forcing).
            prefix: words, or ``prefix_ids``: token ids, that every hypothesis must begin with.
            record: more than attention weights: any of :data:`EXTRAS`.
            edits: by name of a point (see :class:`~atlas.model.recorder.Recorder`), what it becomes on the
                way: an experiment on the model. The trace's settings name the points.

        Raises:
            EmptySentence: there is nothing to translate.
            SentenceTooLong: the model has too few positions.
            TokenizerError: a text holds half a character, or ``prefix_ids`` an id that does not exist.
            OptionsError: an unknown ``record``, or a forced text that cannot be read.
            EditError: the model has no point that is to be edited.
        """
        return self.traces([sentence], options, target, prefix, prefix_ids, record, edits)[0]

    def traces(
        self,
        sentences: Sequence[str],
        options: SearchOptions = SearchOptions(),
        target: str | None = None,
        prefix: str | None = None,
        prefix_ids: Sequence[int] | None = None,
        record: Sequence[str] = ("scores",),
        edits: Mapping[str, Edit] | None = None,
    ) -> list[Trace]:
        """:meth:`trace` for several sentences in one padded batch; each trace is free of padding."""
        known = self.config.recordable
        unknown = [name for name in record if name not in known]
        if unknown:
            raise OptionsError(f"cannot record {unknown[0]!r}; known are {', '.join(known)}")
        if target is not None and (len(sentences) != 1 or prefix or prefix_ids):
            raise OptionsError("a forced translation goes with one sentence and no forced beginning")
        if prefix is not None and prefix_ids is not None:
            raise OptionsError("a forced beginning is given as words or as ids, not as both")
        texts, ids = [], []
        for text, tokens, problem in map(self._read, sentences):
            if problem is not None:
                raise problem
            texts.append(text)
            ids.append(tokens)
        if not texts:
            return []
        recording = Recording(self.config.attention_layers, tuple(record), dict(edits or {}))
        result: SearchResult
        if target is not None:
            if not normalise(target).strip():
                raise EmptySentence("the forced translation is empty")
            result = force_target(self._model, ids[0], self.tokenizer.encode(target), options, recording)
        else:
            begun = tuple(prefix_ids) if prefix_ids is not None else self._prefix(prefix)
            for token in begun:
                self.tokenizer.piece(token)
            result = search(self._model, ids, options, prefix=begun, recording=recording)
        check_edits(recording.edits, recording.made)
        settings = {
            **options.to_dict(),
            "target": target,
            "prefix": prefix,
            "prefix_ids": None if prefix_ids is None else [int(token) for token in prefix_ids],
        }
        if edits:
            settings["edited"] = sorted(edits)
        header = {
            "model_name": self.name,
            "model_hash": self.hash,
            "source_language": self.source_language,
            "target_language": self.target_language,
            "settings": settings,
        }
        assert result.encoder is not None
        if {"k", "v"} & set(record):
            self._record_memory(self.model, result)
        return [
            build_trace(
                record=result.records[row],
                hypotheses=result.hypotheses[row],
                encoder=result.encoder,
                row=row,
                layers=self.config.attention_layers,
                source=texts[row],
                source_ids=ids[row],
                tokenizer=self.tokenizer,
                header=header,
                extras=record,
            )
            for row in range(len(texts))
        ]

    def encode(
        self, sentence: str | Sequence[int], source_positions: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """The encoder's output for one sentence (or its ids, end mark included): ``(S, D)``.

        Raises:
            EmptySentence: there is no id.
            TokenizerError: there is no such id.
            TooLongError: the model has too few positions.
            OptionsError: ``source_positions`` does not fit.
        """
        ids = self.tokenizer.source(sentence) if isinstance(sentence, str) else list(sentence)
        if not ids:
            raise EmptySentence("there are no tokens to read")
        self.tokenizer.pieces(ids)
        source = pad([ids]).to(self.device)
        table = self._table(source_positions, len(ids))
        with torch.inference_mode():
            memory = self._model.encode(source, source != PAD_ID, positions=table)
        return memory[0].float().cpu().numpy()

    def positions(self, length: int) -> NDArray[np.float32] | None:
        """The first ``length`` rows of the model's position table, ``(length, D)``; None if it has none."""
        table = self._model.position_table
        return None if table is None else table[:length].detach().float().cpu().numpy().copy()

    def _read(self, sentence: str) -> tuple[str, list[int], AtlasError | None]:
        return read_sentence(sentence, self.tokenizer, self.config.max_length)

    def _prefix(self, prefix: str | None) -> tuple[int, ...]:
        return tuple(self.tokenizer.encode(prefix)) if prefix and prefix.strip() else ()

    def _table(self, positions: NDArray[np.float32] | None, length: int) -> torch.Tensor | None:
        if positions is None:
            return None
        table = torch.as_tensor(np.ascontiguousarray(positions), dtype=torch.float32, device=self.device)
        if table.dim() != 2 or table.shape[1] != self.config.width or len(table) < length:
            raise OptionsError(
                f"source_positions must have shape (P, {self.config.width}) with P of at least {length}, "
                f"not {tuple(table.shape)}"
            )
        if not table.isfinite().all():
            raise OptionsError("source_positions holds values that are not finite")
        return table

    def _hypothesis(self, found: Found) -> Hypothesis:
        return Hypothesis(
            self.tokenizer.decode(found.ids),
            found.ids,
            found.logprobs,
            found.logprob,
            found.score,
            found.finished,
        )

    @staticmethod
    def _record_memory(model: Transformer, result: SearchResult) -> None:
        """Cross-attention keys and values belong to the source: they are computed once, from what the
        encoder gave.
        """
        assert result.encoder is not None
        with torch.inference_mode():
            pairs = model.cross_keys_values(result.encoder["encoder.memory"])
            for index, (keys, values) in enumerate(pairs):
                result.encoder(f"decoder.{index}.cross.memory.k", keys)
                result.encoder(f"decoder.{index}.cross.memory.v", values)
