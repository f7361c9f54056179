"""Hints for type checkers and the compiler (mypyc); at run time it does nothing.

`Buffer` is the type of arguments that hold bytes.
`override` marks a method that takes the place of an inherited one and needs no docstring of its own:
`typing.override` where Python may be older than 3.12. mypy checks that there is such a method.

Compiled classes that others may derive from, or that are pickled without a `__reduce__` of their own, say
`allow_interpreted_subclasses`: mypyc allows either only then. Frozen dataclasses that are copied or
pickled say `native_class=False`: a compiled one refuses to be filled in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

__all__ = ["Buffer", "mypyc_attr", "override"]

Buffer = bytes | bytearray | memoryview

if TYPE_CHECKING:
    # The compiler knows it by this name, and never calls it.
    from mypy_extensions import mypyc_attr
    from typing_extensions import override
else:

    def mypyc_attr(**_options: bool) -> Callable[[type], type]:
        """Return a decorator of classes that does nothing."""
        return lambda kind: kind

    def override(method: Callable[..., object]) -> Callable[..., object]:
        """Return the method as it is."""
        return method
