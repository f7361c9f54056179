"""Options as the attributes of a class, each with its default, its check and its help in one place.

class Compressing(Options):
    level: int | None = option(default=None, values=range(-7, 23), flag="--level", metavar="N")
    digest: str | None = option(default="sha1", values=("sha1", "sha256"), optional=True)
    name: str = ""
"""

from __future__ import annotations

from operator import index
from typing import Any, ClassVar, Final, NoReturn, Self, SupportsIndex, dataclass_transform

__all__ = ["SIZES", "Option", "Options", "check_range", "integer", "option", "shown"]

SIZES: Final = range(1 << 63)
"""Numbers of bytes."""


class Option:
    """What is known of an option; see `option`."""

    __slots__ = ("argument", "default", "optional", "values")

    def __init__(
        self,
        default: object,
        values: range | tuple[str, ...] | type[bool] | None = None,
        argument: dict[str, str] | None = None,
        *,
        optional: bool = False,
    ) -> None:
        self.default = default
        self.values = values
        """None if the class checks it."""
        self.optional = optional
        self.argument = argument or {}


def option(
    *,
    default: object,
    values: range | tuple[str, ...] | type[bool],
    optional: bool = False,
    **argument: str,
) -> Any:  # noqa: ANN401 - the attribute has the type that its class declares
    """Return an option.

    Args:
        default: Its default. If that is None, the option is optional.
        values: What is valid: integers, words, or True and False.
        optional: Whether None is also valid.
        **argument: The command line has it as `flag`, `metavar` ("SIZE" for a size with a unit) and `help`.
    """
    return Option(default, values, argument, optional=optional or default is None)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(option,))
class Options:
    """Base of frozen classes of options, which are keyword arguments; `**` turns them into these again.

    To type checkers they are dataclasses. They are not made by `dataclasses` because importing that takes as
    long as reading a range from a file does, everything included.

    Raises:
        TypeError: An option is unknown, or has a wrong type.
        ValueError: An option is out of range.
    """

    known: ClassVar[dict[str, Option]]
    """The options by name."""

    def __init_subclass__(cls) -> None:
        defaults = {name: vars(cls)[name] for name in cls.__annotations__}
        known = {name: it if isinstance(it, Option) else Option(it) for name, it in defaults.items()}
        cls.known = getattr(cls, "known", {}) | known
        for name, it in known.items():
            setattr(cls, name, it.default)

    def __init__(self, **given: Any) -> None:  # noqa: ANN401
        for name in given:
            if name not in self.known:
                raise TypeError(f"unknown option: {name}; there are {', '.join(self.known)}")
        vars(self).update(given)
        self.check()

    def check(self) -> None:
        """Refuse options that have a wrong type (`TypeError`) or are out of range (`ValueError`)."""
        for name, given in vars(self).items():
            _check(name, given, self.known[name])

    def but(self, **changes: Any) -> Self:  # noqa: ANN401
        """Return the options with changes."""
        return type(self)(**(vars(self) | changes))

    def keys(self) -> list[str]:
        """Return the names of the options."""
        return list(self.known)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self, name)

    def __eq__(self, other: object) -> bool:
        return dict(**self) == dict(**other) if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self[name] for name in self.known))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={self[name]!r}' for name in self.known)})"

    def __setattr__(self, name: str, _: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} cannot be changed: {name}")


def _check(name: str, value: object, option: Option) -> None:
    values = option.values
    if values is None or (value is None and option.optional):
        return
    if values is bool:
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be True or False, not {shown(value)}")
    elif isinstance(values, range):
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{name} must be an int, not {shown(value)}")
        check_range(name, value, values.start, values.stop - 1)
    elif isinstance(values, tuple) and value not in values:
        *others, last = (f'"{word}"' for word in values)
        none = " or None" if option.optional else ""
        raise ValueError(f"{name} is {value!r}, not {', '.join(others)} or {last}{none}")


def integer(name: str, value: SupportsIndex) -> int:
    """Return an argument as an int: one of NumPy is also accepted. A TypeError names the argument."""
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
