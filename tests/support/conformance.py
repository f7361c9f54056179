"""A small manifest of samples, and implementations to judge by it."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance.command import Ended

from tests.support.writing import KIB, text, written

READER = """\
import json, os, sys

def answer(question, path, *numbers):
    manifest = json.load(open(os.path.join(os.path.dirname(path), "manifest.json")))
    known = next(it for it in manifest["files"] if it["file"] == os.path.basename(path))
    if question == "range":
        parts = [(r["offset"], it) for r in known["records"] for it in r["ranges"]]
        found = next(it for at, it in parts if numbers[::2] == (str(at), str(it["start"])))
        return int(not found["sha256"]), bytes.fromhex(found.get("hex", ""))
    names = ("offset", "length", "size", "sha256")
    lines = [json.dumps({n: it[n] for n in names}) for it in known["records"] if it["complete"]]
    return int(known["readable"] != "all"), "\\n".join(lines).encode()

if sys.argv[1:] != ["batch"]:
    status, output = answer(*sys.argv[1:])
    sys.stdout.buffer.write(output)
    sys.exit(status)
for line in sys.stdin:
    status, output = answer(*json.loads(line))
    sys.stdout.buffer.write(b"%d %d\\n%b" % (status, len(output), output))
    sys.stdout.flush()
"""
"""An implementation that starts fast: it has read the manifest, and nothing else."""
BLOCKS = [b"small", text(200 * KIB), b"last"]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def make_samples(folder: Path) -> dict[str, Any]:
    """Write a sound file, one that is cut off in its last record, an empty one, and their manifest."""
    folder.mkdir(exist_ok=True)
    data, places = written(*({"block": block} for block in BLOCKS), frame_size=64 * KIB)
    records = [
        {
            "offset": place.offset,
            "length": place.length,
            "size": len(block),
            "sha256": sha256(block),
            "type": "resource",
            "complete": True,
            "table": {"offset": 1, "size": 2} if len(block) > 64 * KIB else None,
            "ranges": [{"start": 1, "end": 4, "sha256": sha256(block[1:4]), "hex": block[1:4].hex()}],
        }
        for place, block in zip(places, BLOCKS, strict=True)
    ]
    cut = data[: places[1].offset + places[1].length // 2]
    known = records[1]["ranges"]
    lost = {"start": 190_000, "end": 190_009, "sha256": None}
    damaged = [records[0], records[1] | {"complete": False, "table": None, "ranges": [*known, lost]}]
    files = [
        sample("sound.warc.zst", data, records, mode="large"),
        sample("cut.warc.zst", cut, damaged, valid=False, readable="some", breaks=["W27"]),
        sample("empty.warc.zst", b"", [], valid=False, readable="none", breaks=["W27"]),
    ]
    for name, stored in (("sound", data), ("cut", cut), ("empty", b"")):
        (folder / f"{name}.warc.zst").write_bytes(stored)
    manifest = {"specification": "warc-zstd-seekable", "version": "1.3", "license": "CC0-1.0", "files": files}
    asked = [block[1:4] for block in BLOCKS]
    manifest["contents"] = {sha256(data): b64encode(data).decode() for data in asked}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return manifest


def sample(name: str, data: bytes, records: list[Any], **fields: Any) -> dict[str, Any]:
    base = {"file": name, "size": len(data), "sha256": sha256(data), "title": "a file", "sections": ["2.1"]}
    rest = {"valid": True, "mode": None, "breaks": [], "readable": "all", "records": records}
    return base | rest | fields


def lines_of(records: Sequence[dict[str, Any]]) -> bytes:
    """Return what an implementation prints of records."""
    names = ("offset", "length", "size", "sha256")
    return b"".join(json.dumps({name: it[name] for name in names}).encode() + b"\n" for it in records)


def well_behaved(manifest: dict[str, Any], blocks: Sequence[bytes] = BLOCKS) -> Any:
    """Return an implementation that knows the manifest; see `conformance.answers.Ask`."""
    files = {it["file"]: it for it in manifest["files"]}

    def ask(words: Sequence[str], max_output: int) -> Ended:
        question, path, *numbers = words
        known = files[Path(path).name]
        if question == "records":
            good = [it for it in known["records"] if it["complete"]]
            return Ended(int(known["readable"] != "all"), lines_of(good), "cut off")
        offset, _, start, stop = map(int, numbers)
        if known["readable"] != "all" and start > 100_000:
            return Ended(1, b"", "cut off")
        number = [it["offset"] for it in known["records"]].index(offset)
        return Ended(0, blocks[number][start:stop], "")

    return ask
