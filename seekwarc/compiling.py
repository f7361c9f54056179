"""What modules that may be compiled tell the compiler (mypyc); to Python it means nothing.

Compiled classes that others may derive from, or that are pickled without a `__reduce__` of their own, say
`allow_interpreted_subclasses`: mypyc allows either only then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

__all__ = ["mypyc_attr"]

if TYPE_CHECKING:
    # The compiler knows it by this name, and never calls it.
    from mypy_extensions import mypyc_attr
else:

    def mypyc_attr(**_options: bool) -> Callable[[type], type]:
        """Return a decorator of classes that does nothing."""
        return lambda kind: kind
