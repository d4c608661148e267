"""A model whose weights are about to be read from a file: built without drawing initial ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch.nn import init
from torch.overrides import TorchFunctionMode

_DRAWS = frozenset(
    {torch.Tensor.uniform_, torch.Tensor.normal_, init.uniform_, init.normal_, init.kaiming_uniform_}
)
"""What our models and PyTorch's layers are filled by; of the last three PyTorch tells before they begin."""


class Unfilled(TorchFunctionMode):
    """Inside, nothing is drawn: tensors that would be filled with random numbers hold whatever their memory
    held, and the generator does not move. For this thread alone.

    Drawing initial weights took more than half of the time of loading a bundle.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        named = dict(kwargs or {})
        if func in _DRAWS:
            return args[0] if args else named["tensor"]
        return func(*args, **named)
