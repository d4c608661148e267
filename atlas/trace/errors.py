"""What can be wrong with a trace."""

from __future__ import annotations

from atlas.errors import AtlasError


class TraceError(AtlasError):
    """A trace, or a file that claims to hold one, is not as the schema says; the line names the field."""
