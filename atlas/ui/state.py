"""The address owns the view: it is read into the session before the first widget and follows every change.

Values are kept in the session by name, apart from the widgets, because a widget forgets its value when
another page is shown. A widget is seeded from the stored value and reports every change through a callback,
which runs before the page does. The address is read when a page is arrived at (first visit, link, back
button) and only then: a click that overtakes the browser's copy of the address must not bring old values
back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from atlas.ui.keys import Key, read_address, write_address

_VALUES = "atlas.values"
_PAGE = "atlas.page"
_NOTICES = "atlas.notices"


def _bucket(name: str) -> dict[str, Any]:
    """A dictionary of this session, made when first asked for."""
    if name not in st.session_state:
        st.session_state[name] = {}
    bucket: dict[str, Any] = st.session_state[name]
    return bucket


def _went_back() -> bool:
    """Whether this run answers the browser's back or forward button."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def remembered(name: str, default: Any) -> Any:
    """A value of the address for those who do not have the state of the page, such as a figure.

    Args:
        name: of a key that all pages share.
        default: where no page was set up in this session.
    """
    return _bucket(_VALUES).get(name, default)


def leave_page() -> None:
    """Let the next page be read from the address, also where it is the page that is shown now."""
    st.session_state.pop(_PAGE, None)


class ViewState:
    """The typed values of one page, shared by name with the other pages of the session.

    Read with ``state["layer"]``, write with ``state["layer"] = 3``; the address follows.

    Attributes:
        page: the name of the page.
    """

    def __init__(self, page: str, keys: Sequence[Key[Any]]) -> None:
        self.page = page
        self._keys = {key.name: key for key in keys}
        self._values = _bucket(_VALUES)
        self._notices = _bucket(_NOTICES)
        arrived = st.session_state.get(_PAGE) != page or _went_back()
        st.session_state[_PAGE] = page
        if arrived:
            self._notices.clear()
            found, complaints = read_address(st.query_params.to_dict(), tuple(self._keys.values()))
            self._values.update(found)
            self._notices.update(complaints)
        for key in self._keys.values():
            if not key.accepts(self._values.get(key.name)):
                self._values[key.name] = key.default
        self._write()

    @property
    def notices(self) -> list[str]:
        """What was wrong with the address, a sentence each. It quotes the visitor: show it literally."""
        return list(self._notices.values())

    def __getitem__(self, name: str) -> Any:
        return self._values[self._keys[name].name]

    def __setitem__(self, name: str, value: Any) -> None:
        key = self._keys[name]
        if not key.accepts(value):
            raise ValueError(f"{name}={value!r}: expected {key.expected}")
        self._notices.pop(name, None)
        if self._values[name] != value:
            self._values[name] = value
            self._write()

    def restrict(self, name: str, allowed: Callable[[Any], bool], default: Any, expected: str) -> Any:
        """Check a value against what only the shown trace knows, such as the number of its layers.

        A value that is not allowed becomes ``default``, with a notice.

        Args:
            name: of the key.
            allowed: says whether a value can be shown.
            default: what is shown instead.
            expected: what a good value looks like, such as "a layer from 0 to 3".

        Returns:
            The value to show.
        """
        value = self[name]
        if allowed(value):
            return value
        written = self._keys[name].write
        asked, shown = written(value), written(default)
        instead = f'Shown instead: "{shown}".' if shown else "The default is shown instead."
        message = f'{name}="{asked}" is not here: expected {expected}. {instead}'
        self[name] = default
        self._notices[name] = message
        return default

    def widget(
        self,
        name: str,
        *,
        to_widget: Callable[[Any], Any] | None = None,
        from_widget: Callable[[Any], Any] | None = None,
        after: Callable[[Any], None] | None = None,
    ) -> dict[str, Any]:
        """Arguments that tie an input to a value, as in ``st.slider("Beam", 1, 10, **state.widget("beam"))``.

        The widget shows the stored value, also after another page was visited, and every change goes to the
        store and the address before the page runs. Do not pass ``value``, ``index`` or ``default`` as well.
        An emptied choice (a segmented control that was clicked twice) keeps the value.

        Args:
            name: of the key.
            to_widget: stored value -> value of the widget, where the two differ.
            from_widget: the way back.
            after: called with the new value when it is stored, before the page runs.

        Returns:
            ``key``, ``on_change`` and ``args`` for the widget.
        """
        widget_key = f"atlas.widget.{self.page}.{name}"
        # In every run, also when nothing changed: the browser draws what is in a popover when it is opened,
        # and would show the widget's own default if the value had been sent with an earlier run only.
        st.session_state[widget_key] = to_widget(self[name]) if to_widget else self[name]
        return {"key": widget_key, "on_change": self._changed, "args": (name, widget_key, from_widget, after)}

    def _changed(
        self,
        name: str,
        widget_key: str,
        from_widget: Callable[[Any], Any] | None,
        after: Callable[[Any], None] | None,
    ) -> None:
        value = st.session_state[widget_key]
        if value is None:
            return
        value = from_widget(value) if from_widget else value
        key = self._keys[name]
        if not key.accepts(value):  # what the browser keeps to, a stranger's program need not
            self._notices[name] = f"{name} was left as it was: it should be {key.expected}."
            return
        self[name] = value
        if after:
            after(self[name])

    def address(self, **changes: Any) -> dict[str, str]:
        """The query parameters of this view with some values changed, for a link."""
        unknown = set(changes) - set(self._keys)
        if unknown:
            raise KeyError(f"not in the address of this page: {', '.join(sorted(unknown))}")
        return write_address({**self._values, **changes}, tuple(self._keys.values()))

    def _write(self) -> None:
        address = self.address()
        if st.query_params.to_dict() != address:
            st.query_params.from_dict(address)
