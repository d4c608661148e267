"""Every limit of the project, once: how much, of what, and who keeps to it.

Each is enforced where the work is done, on the server or in the library, never in the browser alone. Over a
limit: one line that says it, with what was found. Whoever runs the program may set others with an environment
variable, ``ATLAS_LIMITS="rows=100000 upload=50MB"``; ``atlas limits`` prints those in force.

Where the numbers come from: a trace keeps beam x length passes, each with the attention of every head, so
:data:`SEARCH` bounds the memory of one request; ``docs/limits.md`` says what was measured.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from atlas.errors import AtlasError

ENVIRONMENT = "ATLAS_LIMITS"
_SIZES = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_SETTING = re.compile(r"([a-z-]+)=([0-9]{1,15})([A-Za-z]*)")


class LimitExceeded(AtlasError):
    """More than a limit allows: what was found, and the limit."""


@dataclass(frozen=True)
class Limit:
    """One limit.

    Attributes:
        name: by which ``ATLAS_LIMITS`` knows it.
        default: the greatest value allowed.
        unit: of the value, in the plural.
        of: what is counted, for the table of limits.
        kept_by: ``"app"`` or ``"all"``: the application alone, or the library and the commands too.
    """

    name: str
    default: int
    unit: str
    of: str
    kept_by: str = "all"

    @property
    def value(self) -> int:
        """The limit in force.

        Raises:
            AtlasError: ``ATLAS_LIMITS`` cannot be read.
        """
        return overrides(os.environ.get(ENVIRONMENT, "")).get(self.name, self.default)

    @property
    def shown(self) -> str:
        """The limit in words: "10,000 rows", "64 MiB"."""
        return amount(self.value, self.unit)

    def check(self, found: int, what: str) -> None:
        """Refuse more than the limit.

        Args:
            found: how much there is.
            what: that has it, the beginning of the sentence: "the sentence", "notes.csv".

        Raises:
            LimitExceeded: ``found`` is more.
        """
        if found > self.value:
            raise LimitExceeded(f"{what} has {amount(found, self.unit)}; the limit is {self.shown}")


def amount(value: int, unit: str) -> str:
    """A number with its unit; bytes in the largest unit that keeps them readable."""
    if unit != "bytes":
        return f"{value:,} {unit}"
    if value >= 10**6 and value % 10**6 == 0:
        return f"{value // 10**6:,} MB"
    if value >= 2**20:
        return f"{value / 2**20:,.1f} MiB".replace(".0 MiB", " MiB")
    return f"{value:,} bytes"


# What a visitor sends.
SENTENCE = Limit("sentence", 4_000, "characters", "a sentence, a typed text, or a row of a file")
LINES = Limit("lines", 50, "lines", "the box of sentences on Translate", "app")
UPLOAD = Limit("upload", 10 * 10**6, "bytes", "an uploaded file of sentences")
ROWS = Limit("rows", 10_000, "rows", "an uploaded file")
COLUMNS = Limit("columns", 100, "columns", "an uploaded file")
UNPACKED = Limit("unpacked", 64 * 10**6, "bytes", "an uploaded workbook when unpacked")
PARTS = Limit("parts", 1_000, "parts", "the ZIP archive of an uploaded workbook")
TRACE = Limit("trace", 64 * 2**20, "bytes", "an uploaded trace", "app")
TRACE_UNPACKED = Limit("trace-unpacked", 512 * 2**20, "bytes", "a trace when unpacked")
TRACE_HEADER = Limit("trace-header", 32 * 2**20, "bytes", "the header of a trace")
FILES = Limit("files", 8, "files", "uploads that one tab keeps on the server at once", "app")

# What the model is asked.
TOKENS = Limit("tokens", 512, "tokens", "a sentence or a translation, end mark included", "app")
BEAM = Limit("beam", 10, "hypotheses", "a beam", "app")
WIDTH = Limit("width", 100, "hypotheses", "a beam in the library and the commands")
SEARCH = Limit("search", 2_560, "tokens", "a search: beam x length of the translation", "app")

# What a stranger's bundle holds.
CONFIG = Limit("config", 2**20, "bytes", "config.json of a bundle")
TEXTS = Limit("texts", 16 * 2**20, "bytes", "a tokenizer, history or card of a bundle")
WEIGHTS = Limit("weights", 4 * 2**30, "bytes", "the weights of a bundle")
LAYERS = Limit("layers", 256, "layers", "the encoder or the decoder of a bundle")
POSITIONS = Limit("positions", 2**26, "numbers", "the position table of a bundle's model")

# What one visitor, and all of them, may ask at once.
WORK = Limit("work", 3, "requests", "of one tab, at work or waiting for one model", "app")
QUEUE = Limit("queue", 32, "requests", "that wait for one model", "app")
WAIT = Limit("wait", 120, "seconds", "that a request waits for a model", "app")
TABS = Limit("tabs", 200, "tabs", "open at once", "app")
JOBS = Limit("jobs", 8, "files", "that are translated at once", "app")
CACHE = Limit("cache", 512 * 2**20, "bytes", "results kept for all visitors, of each kind", "app")
MODELS = Limit("models", 6, "models", "kept in memory", "app")

ALL: tuple[Limit, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Limit))
"""Every limit, in the order of the table."""


@lru_cache(maxsize=8)
def overrides(setting: str) -> Mapping[str, int]:
    """The limits that ``ATLAS_LIMITS`` sets, by name.

    Args:
        setting: ``NAME=NUMBER``, with spaces or commas between them; a number of bytes may end in KB, MB, GB,
            KiB, MiB or GiB.

    Raises:
        AtlasError: a part of it is no setting of a limit.
    """
    known = {limit.name: limit for limit in ALL}
    found: dict[str, int] = {}
    for part in re.split(r"[\s,]+", setting.strip()):
        match = _SETTING.fullmatch(part)
        if part and not match:
            raise AtlasError(f"{ENVIRONMENT}: {part!r} is not NAME=NUMBER, such as rows=20000 or upload=20MB")
        if match:
            name, number, size = match[1], int(match[2]), match[3].upper()
            if name not in known:
                raise AtlasError(f"{ENVIRONMENT}: no limit is called {name!r}; known are {', '.join(known)}")
            if size not in _SIZES or (size and known[name].unit != "bytes") or not number:
                raise AtlasError(f"{ENVIRONMENT}: {part!r} is not a number of {known[name].unit} above 0")
            found[name] = number * _SIZES[size]
    return found


def table() -> str:
    """The limits in force as a Markdown table."""
    rows = [("`ATLAS_LIMITS`", "limit", "of", "kept by"), ("---", "---:", "---", "---")]
    rows += [
        (f"`{limit.name}`", limit.shown, limit.of, "the app" if limit.kept_by == "app" else "everything")
        for limit in ALL
    ]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)
