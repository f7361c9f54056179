"""`install` takes the place of warcio's names, in what is imported already and in what will be."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import seekwarc.compat.warcio as ours
import warcio, warcio.archiveiterator, warcio.cli, cdxj_indexer.main
original = warcio.ArchiveIterator
class Derived(original):
    pass
ours.install()
ours.install()
assert warcio.ArchiveIterator is warcio.indexer.ArchiveIterator is ours.ArchiveIterator
assert warcio.extractor.ArchiveIterator is warcio.checker.ArchiveIterator is ours.ArchiveIterator
assert warcio.archiveiterator.WARCIterator is ours.WARCIterator
assert warcio.archiveiterator.ARCIterator is ours.ARCIterator
assert warcio.warcwriter.WARCWriter is warcio.WARCWriter is warcio.recompressor.WARCWriter is ours.WARCWriter
assert cdxj_indexer.main.BufferWARCWriter is ours.BufferWARCWriter
assert cdxj_indexer.main.CDXJIndexer.ALLOWED_EXT.count(".warc.zst") == 1
assert "warcio.capture_http" not in __import__("sys").modules
from warcio.capture_http import WARCWriter
assert WARCWriter is ours.WARCWriter
assert original is ours.ArchiveIterator is not Derived.__base__
assert issubclass(ours.ArchiveIterator, Derived.__base__)
print("installed")
"""


def test_names_are_replaced_everywhere() -> None:
    # Python 3.12 warns of escapes in packages of others when it compiles them.
    command = [sys.executable, "-W", "ignore::SyntaxWarning", "-c", CODE]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert (done.stdout, done.stderr) == ("installed\n", "")
