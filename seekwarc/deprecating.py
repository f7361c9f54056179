"""Names that have new ones: they work for a while, and say so. spec-notes/versions.md says for how long."""

from __future__ import annotations

import warnings

__all__ = ["warn_old_name"]


def warn_old_name(old: str, new: str, *, gone_in: str, stacklevel: int = 2) -> None:
    """Warn that a name has a new one.

    A `DeprecationWarning` reaches those who can change the program: Python shows it for the main module,
    and test runners always do. Those who only run it see nothing.

    Args:
        old: The name that was used, as its user wrote it.
        new: What takes its place.
        gone_in: The version that no longer has the old name.
        stacklevel: Whose line is named: 2 is that of the caller's caller, as for `warnings.warn`.
    """
    message = f"{old} is now {new}; the old name goes in seekwarc {gone_in}"
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel + 1)
