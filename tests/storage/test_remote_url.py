"""URLs of remote objects: what is refused, what is shown, where credentials come from."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

from seekwarc.errors import SourceError
from seekwarc.storage.opening import open_source
from seekwarc.storage.remote_url import open_store, shown_url
from tests.support.rangeserver import RangeServer
from tests.support.writing import noise

pytestmark = pytest.mark.needs("module:obstore")

DATA = noise(50_000, seed=71)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host/a.warc.zst", "https://host/a.warc.zst"),
        ("https://host/a?X-Amz-Signature=SECRET&b=c", "https://host/a"),
        ("https://host/a#SECRET", "https://host/a"),
        ("https://me:SECRET@host:80/a@b", "https://host:80/a@b"),
        ("s3://bucket/a/b c.warc.zst", "s3://bucket/a/b c.warc.zst"),
    ],
)
def test_nothing_secret_is_shown(url: str, shown: str) -> None:
    assert shown_url(url) == shown


@pytest.mark.parametrize("url", ["ftp://host/SECRET?SECRET", "file:///etc/passwd", "S4://a/b"])
def test_an_unknown_scheme_is_refused(url: str) -> None:
    with pytest.raises(SourceError, match="not supported; use one of http, https, s3, gs, az"):
        open_source(url)


@pytest.mark.parametrize("url", ["http://", "https:///path", "s3://", "http://[::/x", "gs:///key"])
def test_a_url_without_an_object_is_refused(url: str) -> None:
    with pytest.raises(SourceError, match="the URL is invalid"):
        open_source(url)


@pytest.mark.parametrize(
    "url", ["http://me:SECRET@host/a", "https://SECRET@host/a", "s3://key:SECRET@bucket/a"]
)
def test_credentials_in_a_url_are_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(SourceError, match="the URL contains credentials") as caught:
        open_source(url)
    assert "SECRET" not in str(caught.value)


def test_without_obstore_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(SourceError, match=r"pip install 'seekwarc\[remote\]'"):
        open_source("https://host/a")


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://host/a/b?c=d", ""),
        ("s3://bucket/a/b.warc.zst", "a/b.warc.zst"),
        ("s3://bucket/bucket", "bucket"),
        ("gs://bucket/a b/ü", "a b/ü"),
    ],
)
def test_paths_in_stores(url: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    assert open_store(url)[1] == path


def test_an_http_url_is_requested_unchanged() -> None:
    with RangeServer(DATA) as server:
        url = f"{server.root}/a%20b/c+d.warc.zst?X-Sig=a%2Fb&c"
        assert open_source(url).read(0, 10) == DATA[:10]
        assert server.asked[0].target == "/a%20b/c+d.warc.zst?X-Sig=a%2Fb&c"


# The stores that have no server here are played by the range server.


def test_azure_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with RangeServer(DATA) as server:
        monkeypatch.setenv("AZURE_STORAGE_USE_EMULATOR", "true")
        monkeypatch.setenv("AZURITE_BLOB_STORAGE_URL", server.root)
        source = open_source("az://container/dir/a.warc.zst")
        assert source.read(5, 100) == DATA[5:100]
        assert server.asked[0].target.partition("?")[0].endswith("/container/dir/a.warc.zst")
        assert open_source("az://container/a").size == len(DATA), "though Azure knows no suffixes"
        assert all(asked.method == "GET" for asked in server.asked)


def test_google_cloud_storage_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with RangeServer(DATA) as server:
        account = tmp_path / "account.json"
        account.write_text(
            f'{{"gcs_base_url": "{server.root}", "disable_oauth": true, "client_email": "", '
            '"private_key": "", "private_key_id": ""}'
        )
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", str(account))
        source = open_source("gs://bucket/dir/a.warc.zst")
        assert source.read(5, 100) == DATA[5:100]
        assert unquote(server.asked[0].target) == "/bucket/dir/a.warc.zst"


def test_s3_is_signed_with_credentials_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with RangeServer(DATA) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.root)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "theid")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
        assert open_source("s3://bucket/a b/c+d%2F.warc.zst").read(5, 100) == DATA[5:100]
        assert "Credential=theid/" in server.asked[0].headers["authorization"]
        assert server.asked[0].target == "/bucket/a%20b/c%2Bd%252F.warc.zst"
        assert "SECRET" not in str(server.asked[0])


@pytest.mark.needs("module:boto3")
def test_s3_is_signed_with_credentials_of_configuration(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "credentials").write_text(
        "[other]\naws_access_key_id = theother\naws_secret_access_key = SECRET\n"
    )
    with RangeServer(DATA) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.root)
        monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
        monkeypatch.setenv("AWS_PROFILE", "other")
        assert open_source("s3://bucket/a").read(5, 100) == DATA[5:100]
        assert "Credential=theother/" in server.asked[0].headers["authorization"]


def test_public_buckets_need_no_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    with RangeServer(DATA) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.root)
        monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
        assert open_source("s3://bucket/a").read(5, 100) == DATA[5:100]
        assert "authorization" not in server.asked[0].headers


def test_objects_of_one_store_share_its_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    first, second, other = (open_store(f"s3://{name}")[0] for name in ("b/x", "b/y", "c/x"))
    assert first is second is not other
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert open_store("s3://b/x")[0] is not first, "another configuration is another store"


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://h.example/a/b_1.warc.zst", "a/b_1.warc.zst"),
        ("http://h.example/a/../b", ""),
        ("http://h.example/a/.", ""),
        ("http://h.example/a//b", ""),
        ("http://h.example/a/", ""),
        ("http://h.example/a%20b", ""),
        ("http://h.example/a?b=c", ""),
        ("http://h.example/", ""),
    ],
)
def test_only_paths_that_mean_the_same_to_all_are_shortened(url: str, path: str) -> None:
    assert open_store(url)[1] == path
