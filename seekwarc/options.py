"""Options as the fields of frozen dataclasses, each with its default, its check and its help in one place.

@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    level: int | None = option(None, range(-7, 23), flag="--level", metavar="N", help="compression level")
    digest: str | None = option("sha1", ("sha1", "sha256"), optional=True)

    def __post_init__(self) -> None:
        check_options(self)
"""

from __future__ import annotations

from dataclasses import field, fields
from functools import cache
from operator import index
from typing import TYPE_CHECKING, Any, Final, SupportsIndex

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["SIZES", "check_options", "check_range", "integer", "option", "shown"]

SIZES: Final = range(1 << 63)
"""Numbers of bytes."""


def option(
    default: object,
    values: range | tuple[str, ...] | type[bool],
    *,
    optional: bool = False,
    **argument: str,
) -> Any:  # noqa: ANN401 - the field has the type that its class declares
    """Return the field of an option.

    Args:
        default: Its default. If that is None, the option is optional.
        values: What is valid: integers, words, or True and False.
        optional: Whether None is valid, too.
        **argument: The command line has it as `flag`, `metavar` ("SIZE" for a size with a unit) and `help`.
    """
    metadata = {"values": values, "optional": optional or default is None, "argument": argument}
    return field(default=default, metadata=metadata)


def check_options(options: DataclassInstance) -> None:
    """Refuse options that have a wrong type (`TypeError`) or are out of range (`ValueError`)."""
    for name, values, optional in _checks(type(options)):
        value = getattr(options, name)
        if value is None and optional:
            continue
        if values is bool:
            if not isinstance(value, bool):
                raise TypeError(f"{name} must be True or False, not {shown(value)}")
        elif isinstance(values, range):
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{name} must be an int, not {shown(value)}")
            check_range(name, value, values.start, values.stop - 1)
        elif value not in values:
            *others, last = (f'"{word}"' for word in values)
            none = " or None" if optional else ""
            raise ValueError(f"{name} is {value!r}, not {', '.join(others)} or {last}{none}")


@cache
def _checks(options: type[DataclassInstance]) -> list[tuple[str, Any, bool]]:
    # Kept, as each file that is opened needs it.
    return [
        (it.name, it.metadata["values"], it.metadata["optional"]) for it in fields(options) if it.metadata
    ]


def integer(name: str, value: SupportsIndex) -> int:
    """Return an argument as an int: that of NumPy is one, too. A TypeError names the argument."""
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{name} must be an int, not {shown(value)}") from None


def check_range(name: str, value: int, low: int, high: int) -> None:
    """Refuse a number that is not within `low` to `high`."""
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}, not within {low} to {high}")


def shown(value: object) -> str:
    """Return a value for a message, or its type if it may be long."""
    return repr(value) if isinstance(value, str | bool | int | float) else type(value).__name__
