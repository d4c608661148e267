"""``atlas data``: get a corpus, check it, count it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from atlas.commands import options
from atlas.commands.output import say, say_json, tell
from atlas.errors import AtlasError

if TYPE_CHECKING:
    from atlas.text.corpora import Corpus
    from atlas.text.download import FileReport


def _obtain(corpus: str, source: Path | None, out: Path | None) -> list[FileReport]:
    """The corpus' files, checked: where they are, or fetched from their public origin."""
    from atlas.text.corpora import CorpusError
    from atlas.text.download import download, locate, progress_bar, verify

    if out is None:
        try:
            return verify(corpus, locate(corpus, source))
        except CorpusError:
            if source is not None:
                raise
    with progress_bar() as advance:
        return download(corpus, out, advance)


def _load(corpus: str, folder: Path) -> list[Corpus]:
    from atlas.text.corpora import load_multi30k, load_tatoeba

    if corpus == "tatoeba":
        return [load_tatoeba(folder)]
    return [load_multi30k(folder, language) for language in ("fr", "de")]


def _counts(corpus: Corpus) -> dict[str, Any]:
    report = corpus.report
    return {
        "name": corpus.name,
        "source_language": corpus.source_language,
        "target_language": corpus.target_language,
        "train": len(corpus.train),
        "development": len(corpus.development),
        "test": len(corpus.test),
        "lines": report.lines,
        "skipped_empty": len(report.empty),
        "skipped_broken": len(report.broken),
    }


def run(
    corpus: Annotated[str, typer.Argument(help="tatoeba, multi30k, or a file of sentence pairs.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="Folder with a local copy; nothing is downloaded.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Download into this folder.", show_default="where it is, or the cache"
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Find a corpus or download it, check its files, and count its sentence pairs.

    Looked for in --from, $ATLAS_DATA and the cache; otherwise fetched from its public origin.
    """
    from atlas.text.corpora import load_file
    from atlas.text.download import CORPORA

    if source is not None and out is not None:
        raise AtlasError("give --from or --out, not both")
    files: list[FileReport] = []
    if corpus in CORPORA:
        files = _obtain(corpus, source, out)
        corpora = _load(corpus, files[0].path.parent)
    elif Path(corpus).is_file():
        corpora = [load_file(Path(corpus), "source", "target")]
    else:
        raise AtlasError(f"{corpus}: no such corpus or file; known corpora are {', '.join(CORPORA)}")
    if as_json:
        listed = [
            {"path": str(f.path), "bytes": f.size, "sha256": f.sha256, "known": f.known, "fetched": f.fetched}
            for f in files
        ]
        say_json({"corpus": corpus, "files": listed, "corpora": [_counts(item) for item in corpora]})
        return
    for file in files:
        tell(file)
    for item in corpora:
        say(f"{item.name}: {item.report}")
        parts = (("training", item.train), ("development", item.development), ("test", item.test))
        say("  " + ", ".join(f"{len(pairs):,} {name}" for name, pairs in parts) + " pairs")
