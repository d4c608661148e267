"""A tour from YAML, with the line of everything that is wrong.

The text is taken apart into marked nodes and nothing is constructed from it: no tag is followed, no alias is
expanded, and depth and size are bounded before any of it is put together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import yaml

from atlas.ui.addresses import own_keys, view_keys
from atlas.ui.keys import Key
from atlas.ui.navigation import PAGES
from atlas.ui.talk.tour import MOST_STOPS, Problem, Stop, Tour, TourError

LARGEST: Final = 64 * 1024
"""Bytes that a tour may have."""

_DEEPEST: Final = 8
_LONGEST: Final = {"title": 200, "note": 1000}
_TOUR: Final = ("title", "state", "stops")
_STOP: Final = ("page", "state", "note")
_SAID: Final = {"true": "1", "yes": "1", "on": "1", "false": "0", "no": "0", "off": "0"}
_NO_TEXT: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PLAIN_TAGS: Final = tuple(
    f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "null", "timestamp")
)
_FLAG_TAG: Final = "tag:yaml.org,2002:bool"

Fields = dict[str, tuple[yaml.Node, int]]


def read_tour(name: str, data: bytes, models: Sequence[str] = ()) -> Tour:
    """Read a tour and check every stop against what its page keeps in the address.

    Args:
        name: of the file, for errors.
        data: the file.
        models: the names of the models that stops may name; any, where none is given.

    Raises:
        TourError: every problem with its line.
    """
    return _Reader(name, models).tour(_root(name, data))


def _root(name: str, data: bytes) -> yaml.Node:
    """The document as nodes; its text, depth and size are checked first."""

    def wrong(line: int, text: str) -> TourError:
        return TourError(name, Problem(line, text))

    if len(data) > LARGEST:
        raise wrong(1, f"the file is too large; a tour has at most {LARGEST:,} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise wrong(data.count(b"\n", 0, error.start) + 1, "this is not UTF-8 text") from None
    sign = _NO_TEXT.search(text)
    if sign:
        line = text.count("\n", 0, sign.start()) + 1
        raise wrong(line, f"the character U+{ord(sign[0]):04X} cannot stand in YAML")
    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            line = event.start_mark.line + 1 if event.start_mark else 1
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise wrong(line, "anchors and aliases (& and *) are not allowed; write the value again")
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise wrong(line, f"more than {_DEEPEST} lists and maps inside each other")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark, said = error.problem_mark or error.context_mark, error.problem or error.context or ""
        raise wrong(mark.line + 1 if mark else 1, f"this is not YAML: {_one_line(said)}") from None
    except yaml.YAMLError as error:
        raise wrong(1, f"this is not YAML: {_one_line(str(error))}") from None
    if root is None:
        raise wrong(1, "the file is empty; a tour has a list of stops")
    return root


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:117] + "..."


class _Reader:
    """Goes through the nodes and notes every problem."""

    def __init__(self, name: str, models: Sequence[str]) -> None:
        self.name = name
        self.problems: list[Problem] = []
        self.shared = {key.name: key for key in view_keys(models)}
        if not models:
            del self.shared["model"]
        self.any_model = not models

    def tour(self, root: yaml.Node) -> Tour:
        """The tour under the top node.

        Raises:
            TourError: something was noted.
        """
        fields = self.fields(root, "a tour", _TOUR)
        title = self.text(fields, "title", default=self.name)
        shared = self.values(fields, self.shared, "every page")
        stops: list[Stop] = []
        if "stops" in fields:
            node, line = fields["stops"]
            if not isinstance(node, yaml.SequenceNode) or not node.value:
                self.wrong(
                    line, "stops should be a list with at least one stop, each beginning with '- page:'"
                )
            elif len(node.value) > MOST_STOPS:
                self.wrong(_line(node.value[MOST_STOPS]), f"a tour has at most {MOST_STOPS} stops")
            else:
                stops = [stop for item in node.value for stop in self.stop(item, shared)]
        elif isinstance(root, yaml.MappingNode):
            self.wrong(
                _line(root), "there are no stops; write 'stops:' and a list, each beginning with '- page:'"
            )
        if self.problems:
            raise TourError(self.name, *sorted(self.problems, key=lambda problem: problem.line))
        return Tour(title, tuple(stops))

    def stop(self, node: yaml.Node, shared: dict[str, str]) -> Iterator[Stop]:
        """The stop, where it can be read that far."""
        fields = self.fields(node, "a stop", _STOP)
        note = self.text(fields, "note")
        if not isinstance(node, yaml.MappingNode):
            return
        pages = [page.name for page in PAGES]
        noted = len(self.problems)
        page = self.text(fields, "page")
        if len(self.problems) > noted:
            return
        if page not in pages:
            line = fields["page"][1] if "page" in fields else _line(node)
            found = f'there is no page "{_short(page)}"' if "page" in fields else "this stop names no page"
            self.wrong(line, f"{found}; pages are {', '.join(pages)}")
            return
        known = self.shared | {key.name: key for key in own_keys(page)}
        values = self.values(fields, known, f"the page {page}")
        yield Stop(page, shared | values, note, _line(node))

    def values(self, fields: Fields, known: dict[str, Key[Any]], where: str) -> dict[str, str]:
        """The parameters under ``state``, each read by its key."""
        found: dict[str, str] = {}
        if "state" not in fields:
            return found
        node, line = fields["state"]
        if isinstance(node, yaml.ScalarNode) and not node.value:
            return found
        names = (*known, *(["model"] if self.any_model else []))
        for name, (value, at) in self.fields(
            node, "state", names, f"is not in the address of {where}", line
        ).items():
            raw = self.scalar(value, name, at)
            if raw is None:
                continue
            if name in known:
                key = known[name]
                try:
                    key.read(raw)
                except ValueError:
                    self.wrong(at, f'{name}="{_short(raw)}" should be {key.expected}')
                    continue
            found[name] = raw
        return found

    def fields(
        self, node: yaml.Node, what: str, names: Sequence[str], missing: str = "", line: int | None = None
    ) -> Fields:
        """The entries of a map by name, each with its line; others and repeated ones are noted."""
        found: Fields = {}
        missing = missing or f"is not a part of {what}"
        if not isinstance(node, yaml.MappingNode):
            self.wrong(
                line or _line(node), f"{what} should be a map with {', '.join(names)}, written 'name: value'"
            )
            return found
        for key, value in node.value:
            at = _line(key)
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            if name not in names:
                self.wrong(at, f'"{_short(name)}" {missing}; known are {", ".join(names)}')
            elif name in found:
                self.wrong(at, f"{name} is written twice, first in line {found[name][1]}")
            else:
                found[name] = (value, at)
        return found

    def text(self, fields: Fields, name: str, default: str = "") -> str:
        """A text of bounded length."""
        if name not in fields:
            return default
        node, line = fields[name]
        raw = self.scalar(node, name, line) or ""
        most = _LONGEST.get(name, LARGEST)
        if len(raw) > most:
            self.wrong(line, f"{name} has {len(raw):,} characters; at most {most:,}")
        return raw.strip()

    def scalar(self, node: yaml.Node, name: str, line: int) -> str | None:
        """One value as it is written in an address."""
        if isinstance(node, yaml.ScalarNode):
            if node.tag == _FLAG_TAG and node.value.lower() in _SAID:
                return _SAID[node.value.lower()]
            if node.tag in _PLAIN_TAGS:
                return "" if node.tag.endswith(":null") else node.value
        self.wrong(line, f"{name} should be one plain value, without a list, a map or a tag")
        return None

    def wrong(self, line: int, text: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(line, text))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else line[:37] + "..."
