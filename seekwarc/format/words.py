"""Wording that messages share."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["counted", "did_you_mean", "quoted"]


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: "1 record", "2 records"."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean ...?" if a known word resembles the unknown one, or else an empty string."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), n=1, cutoff=0.7)
    return f"; did you mean {close[0]}?" if close else ""


def quoted(text: str) -> str:
    """Return a text of an archive, or of another file, between quotes, spelled as in all outputs."""
    from seekwarc.format.uri import as_utf8

    return repr(as_utf8(text))
