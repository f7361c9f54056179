"""Train a dictionary, extract that of a .warc.zst, or describe it.

  seekwarc dictionary train crawl-*.warc.gz -o crawl.dict
  seekwarc dictionary extract crawl.warc.zst -o crawl.dict
  seekwarc dictionary show crawl.warc.zst

`seekwarc dictionary train --help` (or extract, show) explains each.
"""

from __future__ import annotations

import argparse

from seekwarc.cli.arguments import Parser, add_json_argument, add_output_arguments
from seekwarc.cli.options import add_limit_arguments, add_quiet_argument, dictionary_at, limit_options
from seekwarc.cli.printing import dictionary_json, done_json, picked, report_done
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import existing_option, output_target
from seekwarc.cli.train import __doc__ as train_text
from seekwarc.cli.train import add_train_arguments, train_dictionary
from seekwarc.format.words import counted
from seekwarc.frames.dictionary import (
    FIRST_RANDOM_ID,
    LAST_RANDOM_ID,
    MAX_DICTIONARY_SIZE,
    StoredDictionary,
)
from seekwarc.write.files import refuse_same_file
from seekwarc.write.opening import committed

__all__ = ["add_arguments", "run"]

FILE = """
FILE is a .warc.zst with a dictionary, compressed or not, or a file that is a dictionary. `-` is standard
input or standard output.
"""
EXTRACT = f"""Write the dictionary of a .warc.zst into a file, for `zstd -D`.
{FILE}
seekwarc dictionary extract crawl.warc.zst -o crawl.dict
zstd -D crawl.dict -dc crawl.warc.zst | less
"""
SHOW = f"""Print the ID of a dictionary, its sizes and how it is stored.
{FILE}
seekwarc dictionary show crawl.warc.zst
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="train|extract|show", parser_class=Parser
    )
    text = "make a dictionary from the records of files"
    train = actions.add_parser("train", help=text, description=train_text)
    add_train_arguments(train)
    extract = actions.add_parser(
        "extract", help="write the raw dictionary, for `zstd -D`", description=EXTRACT
    )
    show = actions.add_parser("show", help="print its ID, its sizes and how it is stored", description=SHOW)
    for action in (extract, show):
        action.add_argument("file", metavar="FILE")
    add_output_arguments(extract, "DICT", "the dictionary")
    add_quiet_argument(extract)
    for action in (extract, show):
        add_json_argument(action)
        add_limit_arguments(action)
    for action in (train, extract, show):
        action.hide_rare()


def run(options: argparse.Namespace) -> int:
    if options.action == "train":
        return train_dictionary(options)
    found = dictionary_at(options.file, **limit_options(options))
    if options.action == "show":
        print(done_json(file=options.file, **_json(found)) if options.json else _text(found))
        return 0
    target = output_target(options.output)
    refuse_same_file(options.file, target)
    with committed(target, existing=existing_option(options)) as output:
        output.write(found.dictionary.data)
    report_done(options, _text(found), {"file": options.file, "target": options.output, **_json(found)})
    return 0


def _json(found: StoredDictionary) -> dict[str, object]:
    return {
        **dictionary_json(found.dictionary),
        **picked(found, "stored_size", "framed", "window_size", "keeps_limits"),
        "compressed": found.window_size is not None,
    }


def _text(found: StoredDictionary) -> str:
    known = FIRST_RANDOM_ID <= found.dictionary.id <= LAST_RANDOM_ID
    private = "" if known else f" (outside {FIRST_RANDOM_ID} to {LAST_RANDOM_ID}, the range of random IDs)"
    if not found.framed:
        stored = "as it is, in a file of its own"
    elif found.window_size is None:
        stored = "in a dictionary frame, not compressed"
    else:
        stored = f"in a dictionary frame, compressed to {counted(found.stored_size, 'byte')}"
    limit = human_size(MAX_DICTIONARY_SIZE)
    kept = f"within {limit}" if found.keeps_limits else f"above {limit}: readers need not support it"
    size = len(found.dictionary.data)
    return "\n".join(
        [
            f"{'dictionary':<12} {found.dictionary.id}{private}",
            f"{'size':<12} {human_size(size)} ({counted(size, 'byte')})",
            f"{'stored':<12} {stored}",
            f"{'limits':<12} {kept}",
        ]
    )
