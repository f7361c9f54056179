"""Objects appear when they are complete, and nothing is left of those that fail."""

from __future__ import annotations

import gc
import json
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import seekwarc
from seekwarc.storage import upload as upload_module
from seekwarc.storage.upload import StoredObject, Upload
from tests.support.processes import wait_until
from tests.support.stores import Store, store
from tests.support.uploads import NEEDED, PART, Bucket, uploads_to_a_bucket
from tests.support.writing import noise

pytestmark = [pytest.mark.slow, pytest.mark.needs(*NEEDED)]

DATA = noise(PART * 5 // 2)
STEP = 300_000


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with uploads_to_a_bucket() as made:
        yield made


def written(url: str, data: bytes = DATA) -> Upload:
    upload = Upload(url)
    for start in range(0, len(data), STEP):
        upload.write(data[start : start + STEP])
    return upload


@pytest.mark.parametrize("size", [0, 1, PART, PART + 1, 2 * PART, len(DATA)])
def test_an_object_appears_when_it_is_complete(size: int, bucket: Bucket) -> None:
    upload = written(bucket.url("a/b c.warc.zst"), DATA[:size])
    assert bucket.listed() == []
    for _ in range(2):
        upload.finish()
    assert bucket.listed() == ["a/b c.warc.zst"]
    assert bucket.read("a/b c.warc.zst") == DATA[:size]
    assert bucket.unfinished() == []
    if size <= PART:
        assert bucket.asked.count("PUT ") == 1, "one request is enough"


def test_an_aborted_upload_leaves_no_parts(bucket: Bucket) -> None:
    upload = written(bucket.url("a"))
    wait_until(bucket.unfinished)
    for _ in range(2):
        upload.abort()
    assert (bucket.listed(), bucket.unfinished()) == ([], [])
    with pytest.raises(seekwarc.TargetError):
        upload.finish()
    assert bucket.listed() == []


def test_an_upload_that_is_dropped_is_aborted(bucket: Bucket) -> None:
    upload = written(bucket.url("a"))
    wait_until(bucket.unfinished)
    del upload
    gc.collect()
    assert (bucket.listed(), bucket.unfinished()) == ([], [])


@pytest.mark.parametrize("broken", ["PUT partNumber=2", "POST uploads", "POST uploadId"])
def test_a_server_that_fails_is_an_error_and_leaves_nothing(broken: str, bucket: Bucket) -> None:
    bucket.broken = broken
    upload = Upload(bucket.url("a"))
    with pytest.raises(seekwarc.TargetError, match=r"/a: cannot be written: the server answered 500"):
        for start in range(0, len(DATA), STEP):
            upload.write(DATA[start : start + STEP])
        upload.finish()
    assert (bucket.listed(), bucket.unfinished()) == ([], [])
    with pytest.raises(seekwarc.TargetError, match="500"):
        upload.write(bytes(PART))
    bucket.broken = ""
    written(bucket.url("a")).finish()
    assert bucket.read("a") == DATA


@pytest.mark.parametrize(("size", "broken"), [(1000, "PUT "), (len(DATA), "POST uploadId")])
def test_a_store_that_makes_nothing_and_says_it_has_is_an_error(
    size: int, broken: str, bucket: Bucket
) -> None:
    bucket.broken, bucket.status = broken, 200
    upload = written(bucket.url("a"), DATA[:size])
    with pytest.raises(seekwarc.TargetError, match="says that it has made it, but there is no such object"):
        upload.finish()
    assert not upload.is_made


@pytest.mark.parametrize("old", [b"old", DATA])
def test_an_old_object_is_not_taken_for_the_new_one(old: bytes, bucket: Bucket) -> None:
    bucket.client.put_object(Bucket=bucket.name, Key="a", Body=old)
    for bucket.broken, bucket.status in (("POST uploadId", 200), ("POST uploadId", 404)):
        with pytest.raises(seekwarc.TargetError):
            written(bucket.url("a")).finish()
    assert bucket.read("a") == old


def test_an_object_whose_last_answer_is_lost_is_made(bucket: Bucket) -> None:
    bucket.lost = "POST uploadId"
    upload = written(bucket.url("a"))
    upload.finish()
    assert upload.is_made
    assert bucket.read("a") == DATA
    assert bucket.asked.count("HEAD ") == 2, "before and after"
    upload.abort()
    assert bucket.listed() == []


@pytest.mark.parametrize("number", range(1, 7))
@pytest.mark.parametrize("status", [403, 500])
def test_an_upload_of_which_a_part_is_refused_is_aborted(number: int, status: int, bucket: Bucket) -> None:
    bucket.broken, bucket.status = f"partNumber={number}", status
    upload = Upload(bucket.url("a"))
    with pytest.raises(seekwarc.TargetError):
        for start in range(0, PART * 11 // 2, STEP):
            upload.write(noise(STEP, seed=start))
        upload.finish()
    assert (bucket.listed(), bucket.unfinished()) == ([], [])


def test_a_writer_waits_for_a_slow_server(bucket: Bucket) -> None:
    bucket.open.clear()
    upload = Upload(bucket.url("a"))
    accepted = []

    def write() -> None:
        for number in range(60):
            upload.write(bytes([number]) * (PART // 4))
            accepted.append(PART // 4)

    writer = threading.Thread(target=write)
    writer.start()
    time.sleep(1)
    assert sum(accepted) <= (upload_module.AT_ONCE + 4) * PART
    assert writer.is_alive()
    bucket.open.set()
    writer.join()
    upload.finish()
    assert bucket.read("a") == b"".join(bytes([number]) * (PART // 4) for number in range(60))


def test_only_what_is_not_being_sent_is_cut_off(bucket: Bucket) -> None:
    upload = written(bucket.url("a"))
    assert upload.cut(len(DATA) - 100)
    wait_until(bucket.unfinished)
    assert not upload.cut(100)
    upload.write(b"after")
    upload.finish()
    assert bucket.read("a") == DATA[:-100] + b"after"


def test_what_may_be_cut_off_is_held_back(bucket: Bucket) -> None:
    upload = Upload(bucket.url("a"))
    upload.write(DATA[: PART * 3 // 2])
    upload.mark()
    upload.write(bytes(PART - 1))
    wait_until(bucket.unfinished)
    time.sleep(0.2)
    assert upload.cut(PART * 3 // 2)
    upload.write(b"after")
    upload.finish()
    assert bucket.read("a") == DATA[: PART * 3 // 2] + b"after"


def test_an_abort_removes_the_object_it_has_made_and_no_other(bucket: Bucket) -> None:
    upload = written(bucket.url("a"))
    upload.finish()
    upload.abort()
    assert bucket.listed() == []
    upload = written(bucket.url("a"))
    upload.finish()
    bucket.client.put_object(Bucket=bucket.name, Key="a", Body=b"of another")
    upload.abort()
    assert bucket.read("a") == b"of another"


def test_an_object_of_too_many_parts_is_refused(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_module, "MAX_PARTS", 2)
    with pytest.raises(seekwarc.TargetError, match=r"can have 2 parts of 5 MiB.*max_file_size"):
        written(bucket.url("a"))
    gc.collect()
    assert (bucket.listed(), bucket.unfinished()) == ([], [])


SCRIPT = """
    import os, sys, time
    from seekwarc.storage import upload
    upload.PART_SIZE = upload.MAX_HELD = 5 << 20
    made = upload.Upload(sys.argv[1])
    for _ in range(5):
        made.write(os.urandom(3 << 20))
    print("written", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize("how", ["exits", "is killed"])
def test_a_process_that_ends_leaves_no_object(how: str, bucket: Bucket) -> None:
    """One that is killed cannot abort its upload: a rule of the bucket has to remove the parts."""
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), bucket.url("a")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        wait_until(bucket.unfinished)
        if how == "is killed":
            process.send_signal(signal.SIGKILL)
        process.communicate(b"\n")
    assert bucket.listed() == []
    assert bucket.unfinished() == (["a"] if how == "is killed" else [])


def test_objects_of_a_folder_are_listed_without_those_below(bucket: Bucket) -> None:
    for key in ("top", "a/one", "a/two", "a/b/three", "ab/four"):
        bucket.client.put_object(Bucket=bucket.name, Key=key, Body=b"x")
    assert sorted(StoredObject(bucket.url("a/new")).siblings()) == ["one", "two"]
    assert StoredObject(bucket.url("new")).siblings() == ["top"]
    assert StoredObject(bucket.url("none/new")).siblings() == []
    assert StoredObject(bucket.url("a/one")).exists()
    assert not StoredObject(bucket.url("a")).exists()


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://host/a.warc.zst?Signature=SECRET", "a web server cannot be written to"),
        ("ftp://host/a", "this URL scheme is not supported"),
        ("s3://", "the URL is invalid"),
        ("s3://bucket", "the URL names no object"),
        ("s3://bucket/folder/", "the URL names no object"),
        ("s3://user:SECRET@bucket/a", "contains credentials"),
    ],
)
def test_a_url_that_cannot_be_written_to_is_refused(url: str, told: str) -> None:
    with pytest.raises(seekwarc.TargetError, match=told) as caught:
        Upload(url)
    assert "SECRET" not in str(caught.value)


def test_a_missing_bucket_is_named(bucket: Bucket) -> None:
    upload = Upload(f"s3://{bucket.name}-other/a")
    upload.write(b"x")
    with pytest.raises(seekwarc.TargetError, match="there is no such bucket"):
        upload.finish()


def test_without_obstore_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(seekwarc.TargetError, match=r"s3://bucket/a: .*pip install 'seekwarc\[remote\]'"):
        seekwarc.open("s3://bucket/a", "w")


# The stores that have no server here are played by one of our own.


@pytest.fixture(params=["gs", "az"])
def other_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Store]]:
    with store() as server, pytest.MonkeyPatch.context() as patch:
        account = {"gcs_base_url": server.root, "disable_oauth": True, "client_email": ""}
        account |= {"private_key": "", "private_key_id": ""}
        (tmp_path / "account.json").write_text(json.dumps(account))
        patch.setenv("GOOGLE_SERVICE_ACCOUNT", str(tmp_path / "account.json"))
        patch.setenv("AZURE_STORAGE_USE_EMULATOR", "true")
        patch.setenv("AZURITE_BLOB_STORAGE_URL", server.root)
        patch.setattr(upload_module, "PART_SIZE", PART)
        patch.setattr(upload_module, "MAX_HELD", PART)
        yield f"{request.param}://bucket/a/b.warc.zst", server


@pytest.mark.parametrize("size", [1000, len(DATA)])
def test_other_stores_get_the_same_objects(size: int, other_store: tuple[str, Store]) -> None:
    url, server = other_store
    upload = written(url, DATA[:size])
    assert not upload.exists()
    upload.finish()
    ((path, found),) = server.objects.items()
    assert path.endswith("/bucket/a/b.warc.zst")
    assert found == DATA[:size]
    assert server.parts == {}
    assert upload.exists()


def test_an_aborted_upload_makes_no_object_in_other_stores(other_store: tuple[str, Store]) -> None:
    """Azure drops the parts of an upload by itself, after a week."""
    url, server = other_store
    upload = written(url)
    wait_until(lambda: server.parts)
    upload.abort()
    assert server.objects == {}
    assert server.parts == {} or url.startswith("az")
