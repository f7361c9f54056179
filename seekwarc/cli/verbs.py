"""The table of verbs, which the command, its help, completion and the tests of all verbs walk over."""

from __future__ import annotations

import argparse
import importlib
from types import ModuleType
from typing import Final

from seekwarc.cli.arguments import Parser

__all__ = ["GROUPS", "RENAMED", "VERBS", "Verb"]

GROUPS: Final = ("look", "take out", "change", "find", "show", "more")


class Verb:
    """A verb of the command. Its module is imported when the verb is used.

    Example:
        verb = VERBS["ls"]
        options = verb.parser().parse_args(["crawl.warc.zst"])
        status = verb.run(options)
    """

    def __init__(self, name: str, group: str, text: str, home: str = "") -> None:
        self.name = name
        self.group = group
        """One of `GROUPS`."""
        self.text = text
        """What it does, in a line of `seekwarc --help`."""
        self._home = home or f"seekwarc.cli.{name}"
        """Name of its module, which has `add_arguments` and `run`."""

    @property
    def _module(self) -> ModuleType:
        return importlib.import_module(self._home)

    def parser(self) -> Parser:
        """Return a new parser of its arguments, whose help is the docstring of its file."""
        parser = Parser(f"seekwarc {self.name}", self._module.__doc__)
        self._module.add_arguments(parser)
        parser.hide_rare()
        return parser

    def run(self, options: argparse.Namespace) -> int:
        """Run it, and return the exit status."""
        status: int = self._module.run(options)
        return status


_ROWS: Final = (
    Verb("ls", "look", "list the records of a file"),
    Verb("info", "look", "describe a file, or one record and its frames"),
    Verb("verify", "look", "check files: grammar, checksums, seek tables, rules, digests"),
    Verb("cat", "take out", "print a record, or any byte range of it"),
    Verb("extract", "take out", "write payloads into a folder, and a list of what came from where"),
    Verb("text", "take out", "write the text of pages, for a search engine or a language model"),
    Verb("clip", "take out", "cut a part out of an archived film, reading only what it needs"),
    Verb("pictures", "take out", "save pictures of an archived film, each named by its time"),
    Verb("convert", "change", "copy a file into another compression, byte for byte"),
    Verb("pack", "change", "put files of any kind into a new .warc.zst"),
    Verb("recover", "change", "save what is intact in a damaged file"),
    Verb("concat", "change", "join files, copying compressed frames where the format allows it"),
    Verb("split", "change", "cut a file into several, by size or number of records"),
    Verb("filter", "change", "copy chosen records into a new file, without compressing them again"),
    Verb("redact", "change", "make a file without chosen records, and search it for what mentions them"),
    Verb("join", "change", "write what was captured in parts (206) as one record each"),
    Verb("dedupe", "change", "turn records with identical payloads into revisits, or undo that"),
    Verb("index", "find", "make an index of files: of captures, or of words"),
    Verb("lookup", "find", "look up captures in an index, or print the address of one for players"),
    Verb("search", "find", "search the texts of archived pages"),
    Verb("serve", "show", "serve archives to a browser: search, view, play and scrub"),
    Verb("wacz", "show", "make, check and merge WACZ files"),
    Verb("demo", "show", "make an example and show what a range read costs"),
    Verb("dictionary", "more", "train a dictionary, or extract or describe that of a file"),
    Verb("completion", "more", "print a completion script for a shell"),
)
VERBS: Final = {verb.name: verb for verb in _ROWS}

RENAMED: Final = {
    "frames": "seekwarc pictures",
    "train": "seekwarc dictionary train",
    "dictionary info": "seekwarc dictionary show",
    "url": "seekwarc lookup FILE URI --url",
    "conform": "python spec-notes/conform.py",
}
"""What verbs were called before, and the commands that took their places; the last one is in the sources."""
