"""Run warcio's own tests with our classes in the place of its own: `python -m tests.interop.warcio_suite`.

They are not part of this repository: the tests are those of warcio's source distribution, and the files that
they read those of its repository. They run twice: as they are, and with each .warc.gz among these files
converted to .warc.zst under the same name. A test that is expected to fail must fail.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import seekwarc
from seekwarc import tools

LEFT_OUT = {
    "test_s3.py": "needs an S3 server, and settings that the source distribution lacks",
    "test_capture_http_proxy.py": "wsgiprox, which it needs, fails with the pyOpenSSL of today",
    "test_capture_http.py::TestCaptureHttpBin::test_remote": "reads from the Internet",
    "test_capture_http.py::TestCaptureHttpBin::test_post_chunked": "reads from the Internet",
    "test_bufferedreaders.py::test_brotli": "warcio fails with the brotli of today",
    "test_bufferedreaders.py::test_brotli_very_small_chunk": "warcio fails with the brotli of today",
}
"""What does not run, or fails with warcio alone too."""

OFFSETS = "names offsets and lengths in a .warc.gz"
SHARED = "is about gzip members that hold several records, or a part of one, and a conversion mends that"
FAIL_WITH_ZST = {
    "test_archiveiterator.py::TestArchiveIterator::test_unseekable_gz": OFFSETS,
    "test_archiveiterator.py::TestArchiveIterator::test_err_non_chunked_gzip": SHARED,
    "test_cli.py::test_index": OFFSETS,
    "test_cli.py::test_index_2": OFFSETS,
    "test_cli.py::test_check_invalid": SHARED,
    "test_cli.py::test_recompress_non_chunked": SHARED,
    "test_cli.py::test_recompress_wrong_chunks": SHARED,
    "test_cli.py::test_extract_warc_response": OFFSETS,
}
"""What must fail once files are converted, because gzip itself is what it is about."""

PACKAGE = """
import os

def get_test_file(name):
    return os.path.join(os.path.dirname(os.path.realpath(__file__)), "data", name)

def check_helper(args, capsys, expected):
    from warcio.cli import main
    status = None
    try:
        main(args=args)
    except SystemExit as ended:
        status = ended.code
    assert status == expected
    return capsys.readouterr()[0]
"""
"""What their package of tests offers its modules; the source distribution lacks it."""
SETTINGS = """
import pytest
import seekwarc.compat.warcio

seekwarc.compat.warcio.install()
FAIL = {fail!r}

def pytest_collection_modifyitems(items):
    for item in items:
        reason = FAIL.pop(item.nodeid.removeprefix("test/"), None)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    assert not FAIL, f"there are no such tests: {{FAIL}}"
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("source", type=Path, help="folder of warcio's unpacked source distribution")
    parser.add_argument("data", type=Path, help="folder of the files that its tests read")
    options = parser.parse_args()
    for fail in ({}, FAIL_WITH_ZST):
        with tempfile.TemporaryDirectory() as folder:
            count = prepare(Path(folder), options.source, options.data, fail)
            print(f"warcio's tests, {count} files converted to .warc.zst:", flush=True)
            left_out = [f"--deselect=test/{name}" for name in LEFT_OUT if "::" in name]
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "--disable-warnings",
                "-p",
                "no:cacheprovider",
                *left_out,
            ]
            done = subprocess.run(command, cwd=folder, check=False)
            if done.returncode:
                return done.returncode
    return 0


def prepare(folder: Path, source: Path, data: Path, fail: dict[str, str]) -> int:
    """Make a folder in which the tests run, and return how many files were converted."""
    tests = folder / "test"
    tests.mkdir()
    for path in (source / "test").glob("*.py"):
        if path.name not in LEFT_OUT:
            shutil.copy(path, tests)
    shutil.copytree(data, tests / "data")
    os.chmod(tests / "data", 0o755)
    (tests / "__init__.py").write_text(PACKAGE)
    (folder / "conftest.py").write_text(SETTINGS.format(fail=fail))
    found = sorted((tests / "data").glob("*.warc.gz")) if fail else []
    for path in found:
        converted = path.with_suffix(".zst")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", seekwarc.FormatWarning)
            tools.convert(str(path), str(converted))
        converted.replace(path)
    return len(found)


if __name__ == "__main__":
    sys.exit(main())
