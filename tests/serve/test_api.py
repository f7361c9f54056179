"""The JSON interface, and that it is as described."""

from __future__ import annotations

import random
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc.errors import FormatWarning
from seekwarc.serve.api import MAX_ROWS
from seekwarc.serve.app import application
from seekwarc.serve.library import Library
from seekwarc.serve.openapi import DESCRIPTION
from tests.serve.asgi import Client
from tests.serve.conftest import FILM, PAGE, response
from tests.support.partial import PartsWriter
from tests.support.rounds import rounds


def check(answer, path: str) -> object:
    """Assert that an answer is one that the description allows."""
    described = DESCRIPTION["paths"][path]["get"]["responses"]
    assert str(answer.status) in described, f"{answer.status} is not described for {path}"
    schema = described[str(answer.status)]["content"]["application/json"]["schema"]
    jsonschema.validate(answer.json, {**schema, "components": DESCRIPTION["components"]})
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    return answer.json


def test_the_description_is_served(client) -> None:
    answer = client.get("/api/openapi.json")
    assert answer.json == DESCRIPTION


def test_every_reference_of_the_description_resolves() -> None:
    names = re.findall(r"#/components/schemas/(\w+)", str(DESCRIPTION))
    assert set(names) == set(DESCRIPTION["components"]["schemas"])


def test_the_summary(client, crawl) -> None:
    summary = check(client.get("/api/summary"), "/summary")
    assert summary["complete"]
    assert [file["name"] for file in summary["files"]] == [path.name for path in crawl.paths]
    assert summary["records"] == sum(file["records"] for file in summary["files"])
    assert summary["types"]["revisit"] == 1
    assert summary["mimes"]["video/mp4"] >= 2


def test_records_are_counted_by_what_they_have_in_common(client) -> None:
    rows = client.get("/api/records").json["records"]
    glance = check(client.get("/api/glance"), "/glance")
    assert glance["complete"]
    for by, value in (("type", "type"), ("mime", "mime"), ("status", "status")):
        found = {it["name"]: it["records"] for it in glance["groups"][by]["groups"]}
        expected = Counter(str(row[value]) if row[value] is not None else None for row in rows)
        assert found == expected
    assert {it["name"] for it in glance["groups"]["month"]["groups"]} >= {"2026-11"}
    assert "example.org" in {it["name"] for it in glance["groups"]["host"]["groups"]}
    stored = sum(row["length"] for row in rows)
    for kind in glance["groups"].values():
        assert sum(it["stored_size"] for it in kind["groups"]) == stored
        assert kind["others"] is None
    lengths = {it["uri"]: it["length"] for it in rows if it["type"] == "response"}
    (revisit,) = [it["length"] for it in rows if it["type"] == "revisit"]
    saved = lengths["http://example.org/page.html"] - revisit
    assert (glance["revisits"], glance["saved_by_revisits"]) == (1, saved)


def test_a_blosc2_payload_is_described(tmp_path, portal) -> None:
    head = bytes.fromhex("05018504801a060000400000840000000000000000000105000000000000000000")[:32]
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        out.write_resource("http://e.org/chunk", head + bytes(100), "application/octet-stream")
        out.write_resource("http://e.org/page", b"<p>", "text/html")
    with Library([tmp_path / "a.warc.zst"]) as library:
        library.read()
        client = Client(application(library), portal)
        rows = client.get("/api/records").json["records"]
        chunk, page = (client.get(f"/api/records/{row['id']}") for row in rows[-2:])
        assert check(chunk, "/records/{record_id}")["payload_format"].startswith(
            "Blosc2 chunk of 400000 bytes"
        )
        assert check(page, "/records/{record_id}")["payload_format"] is None


def test_records_are_listed_page_by_page(client) -> None:
    everything = check(client.get("/api/records"), "/records")
    assert everything["total"] == len(everything["records"])
    pages = [
        check(client.get("/api/records", start=start, count=4), "/records")["records"]
        for start in range(0, everything["total"], 4)
    ]
    assert [row for page in pages for row in page] == everything["records"]
    assert len(pages[0]) == 4


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"q": "film"}, ["film.mp4"]),
        ({"q": "FILM example"}, ["film.mp4"]),
        ({"mime": "video", "max_size": 3_000_100, "q": "film"}, ["film.mp4"]),
        ({"type": "revisit"}, ["daily"]),
        (
            {"since": "2026-11-16T12:00:01Z", "until": "2026-11-16T12:00:02Z"},
            ["coded.html", "not-coded.html"],
        ),
        ({"q": "html", "sort": "-uri"}, ["page.html", "not-coded.html", "coded.html"]),
        ({"min_size": 3_500_000}, ["chunked.log"]),
        ({"q": "no such thing"}, []),
        ({"q": "", "type": "", "since": "", "min_size": ""}, None),
    ],
)
def test_records_are_found(client, query, names) -> None:
    answer = check(client.get("/api/records", **query), "/records")
    if names is None:
        assert answer["total"] > 12
    else:
        assert [row["uri"].rpartition("/")[2] for row in answer["records"]] == names


@pytest.mark.parametrize(
    "query",
    [
        {"start": "-1"},
        {"start": "x"},
        {"count": "1e9"},
        {"min_size": "10M"},
        {"since": "yesterday"},
        {"until": "2026-13"},
        {"sort": "name"},
        {"sort": "size; DROP TABLE records"},
        {"q": "a " * 50},
        {"q": "a" * 5000},
    ],
)
def test_malformed_requests_get_a_message(client, query) -> None:
    answer = client.get("/api/records", **query)
    assert answer.status == 400
    assert check(answer, "/records")["error"]["message"]


def test_an_answer_has_at_most_one_page_of_rows(client) -> None:
    assert len(client.get("/api/records", count=10**17).json["records"]) <= MAX_ROWS
    assert client.get("/api/records", start=10**17).json["records"] == []
    assert client.get("/api/records", count=0).json["records"] == []


def test_one_record(client, found) -> None:
    record_id = found(
        q="page.html", max_size=len(PAGE) + 500, since="2026-11-16T12:00:00Z", until="2026-11-16T12:00:00Z"
    )
    record = check(client.get(f"/api/records/{record_id}"), "/records/{record_id}")
    assert record["uri"] == "http://example.org/page.html"
    assert (record["mime"], record["charset"], record["payload_size"]) == (
        "text/html",
        "utf-8",
        len(PAGE),
    )
    assert record["file_name"] == "page.html"
    assert ["WARC-Type", "response"] in record["header"]
    assert record["http"]["start_line"] == "HTTP/1.1 200 OK"
    assert ["X-Frame-Options", "DENY"] in record["http"]["header"]
    assert record["problem"] is None


def test_every_record_is_as_described(client) -> None:
    for row in client.get("/api/records").json["records"]:
        record = check(client.get(f"/api/records/{row['id']}", view="v"), "/records/{record_id}")
        assert record["type"] in (row["type"], "response")
        frames = check(client.get(f"/api/records/{row['id']}/frames"), "/records/{record_id}/frames")
        assert frames["frames"] >= 1
    check(client.get("/api/views/v"), "/views/{view}")


def test_a_revisit_names_its_original(client, found) -> None:
    revisit = client.get(f"/api/records/{found(type='revisit')}").json
    assert revisit["payload_size"] == len(PAGE)
    original = client.get(f"/api/records/{revisit['original']['id']}").json
    assert (original["type"], original["uri"]) == ("response", revisit["uri"])


def test_segments_are_named(client) -> None:
    rows = client.get("/api/records", q="big.mp4").json["records"]
    record = client.get(f"/api/records/{rows[1]['id']}").json
    assert [segment["id"] for segment in record["segments"]] == [row["id"] for row in rows]
    assert record["payload_size"] == len(FILM)


def test_the_frames_of_a_record(client, found) -> None:
    record_id = found(q="film.mp4")
    whole = client.get(f"/api/records/{record_id}/frames").json
    few = client.get(f"/api/records/{record_id}/frames", cells=7).json
    assert len(few["cells"]) == 7
    assert (few["frames"], few["content"], few["stored"]) == (
        whole["frames"],
        whole["content"],
        whole["stored"],
    )
    assert few["cells"][-1][1] == whole["frames"]
    assert client.get(f"/api/records/{record_id}/frames", cells=0).json["cells"]
    assert len(client.get(f"/api/records/{record_id}/frames", cells=10**17).json["cells"]) == whole["frames"]


def test_the_cost_of_a_view(client, found) -> None:
    record_id = found(q="film.mp4")
    client.get(f"/api/records/{record_id}", view="mine")
    opened = check(client.get("/api/views/mine"), "/views/{view}")
    assert opened["bytes_asked"] == 0
    client.get(f"/api/records/{record_id}/payload", view="mine", headers={"range": "bytes=1000000-1000999"})
    cost = client.get("/api/views/mine").json
    assert cost["bytes_asked"] == 1000
    assert 1000 <= cost["bytes_decoded"] <= 128 << 10
    assert 1000 <= cost["bytes_read"] - opened["bytes_read"] <= 130 << 10
    after_two_heads = 2 + 1_000_000 // (64 << 10)
    assert [after_two_heads, after_two_heads + 1] in cost["frames"]
    assert check(client.get("/api/views/other"), "/views/{view}")["error"]["kind"] == "not found"


@pytest.mark.parametrize("path", ["", "/frames", "/payload", "/block"])
@pytest.mark.parametrize("record_id", ["x", "00000000-0", "..%2f..%2fetc", "0-0"])
def test_an_unknown_id_is_not_found(client, path, record_id) -> None:
    assert client.get(f"/api/records/{record_id}{path}").status == 404


def test_an_id_of_a_place_within_a_record_is_not_found(client) -> None:
    listed = client.get("/api/records").json["records"][0]["id"]
    answer = client.get(f"/api/records/{listed.partition('-')[0]}-5")
    assert answer.status == 404
    assert check(answer, "/records/{record_id}")["error"]["kind"] == "not found"


def test_payloads_are_part_of_the_interface(client, found) -> None:
    answer = client.get(f"/api/records/{found(q='film.mp4')}/payload", headers={"range": "bytes=10-19"})
    assert (answer.status, answer.body) == (206, FILM[10:20])


words = st.text(max_size=12) | st.integers(-5, 10**20).map(str)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=rounds(60))
@given(st.data())
def test_every_answer_matches_the_description(client, data) -> None:
    rows = client.get("/api/records").json["records"]
    paths = [
        path
        for path, item in DESCRIPTION["paths"].items()
        if "application/json" in item["get"]["responses"]["200"]["content"]
    ]
    path = data.draw(st.sampled_from(paths))
    names = [it["name"] for it in DESCRIPTION["paths"][path]["get"]["parameters"] if it["in"] == "query"]
    query = data.draw(st.dictionaries(st.sampled_from(names), words)) if names else {}
    record_id = data.draw(
        st.sampled_from([row["id"] for row in rows]) | st.text("0123456789abcdef-.", min_size=1)
    )
    real = path.replace("{record_id}", record_id).replace(
        "{view}", data.draw(st.text("abz-_", min_size=1, max_size=4))
    )
    answer = client.get("/api" + real, **query)
    if answer.status == 404 and not answer.headers.get("content-type"):
        return
    assert answer.status < 500 or answer.status in (501, 502)
    check(answer, path)


def test_random_ranges_equal_slices(client, found) -> None:
    path = f"/api/records/{found(q='film.mp4')}/payload"
    dice = random.Random(3)
    for _ in range(60):
        start = dice.randrange(len(FILM))
        stop = min(start + dice.choice([1, 10, 5000, 400_000]), len(FILM))
        answer = client.get(path, headers={"range": f"bytes={start}-{stop - 1}"})
        assert answer.body == FILM[start:stop]


@pytest.mark.needs("samples")
def test_files_of_others_are_served(samples, portal) -> None:
    paths = sorted(path for path in samples.iterdir() if ".warc" in path.name)
    with warnings.catch_warnings(action="ignore", category=FormatWarning), Library(paths) as library:
        library.read()
        client = Client(application(library), portal)
        start, statuses = 0, Counter()
        while rows := check(client.get("/api/records", start=start, count=500), "/records")["records"]:
            start += len(rows)
            for row in rows[::7]:
                path = f"/api/records/{row['id']}"
                record = check(client.get(path), "/records/{record_id}")
                check(client.get(f"{path}/frames"), "/records/{record_id}/frames")
                for part in ("payload", "block"):
                    answer = client.get(f"{path}/{part}", headers={"range": "bytes=0-99"})
                    statuses[answer.status] += 1
                    assert answer.status in (206, 416, 404, 501, 502)
                    assert answer.status in (206, 416) or record.get("problem") or "error" in record
        assert start > 100
        assert statuses[206] + statuses[416] > 0.95 * statuses.total(), "416: there are no bytes at all"


@pytest.mark.parametrize(
    ("body", "problem", "deviation"),
    [
        (b"<p>words", None, "the body is not chunked, though its head says so"),
        (
            b"40\r\n<p>words",
            "the body may be the beginning of one chunk: it is given as it is stored",
            "the body is not chunked, though its head says so",
        ),
        (b"1\r\n<\r\n40\r\np>words", "the last chunk is missing", None),
        (b"8\r\n<p>words\r\n0\r\n\r\n", None, None),
    ],
)
def test_damage_and_harmless_deviations_are_told_apart(tmp_path, portal, body, problem, deviation) -> None:
    path = tmp_path / "one.warc.zst"
    with seekwarc.open(path, "w") as out:
        block = response(body, "text/html", "Transfer-Encoding: chunked")
        out.write_response("http://example.org/", block, date="2026-11-16T12:00:00Z")
    with Library([path]) as library:
        library.read()
        client = Client(application(library), portal)
        (row,) = client.get("/api/records", q="example").json["records"]
        found = client.get(f"/api/records/{row['id']}").json
    assert (found["problem"], found["deviation"]) == (problem, deviation)


@pytest.fixture
def mixed(tmp_path, portal):
    """Serve a film with its request, an error and a metadata record; optionally changed before."""

    @contextmanager
    def serve(change=lambda data, film: None) -> Iterator[Client]:
        path = tmp_path / "mixed.warc.zst"
        with seekwarc.open(path, "w", frame_size=64 << 10, existing="overwrite") as out:
            date = "2026-11-16T12:00:00Z"
            uri = "http://e.org/film.mp4"
            out.write_request(uri, b"GET /film.mp4 HTTP/1.1\r\nHost: e.org\r\n\r\n", date=date)
            film = out.write_response(uri, response(FILM, "video/mp4"), date=date)
            out.write_metadata({"via": "http://e.org/"}, target_uri=uri, date=date)
            gone = response(b"gone", "text/html").replace(b"200 OK", b"404 Not Found")
            out.write_response("http://e.org/gone", gone, date=date)
        data = bytearray(path.read_bytes())
        change(data, film)
        path.write_bytes(data)
        with Library([path]) as library:
            library.read()
            yield Client(application(library), portal)

    return serve


def kinds(client: Client, **query: object) -> list[str]:
    rows = check(client.get("/api/records", **query), "/records")["records"]
    return [row["type"] for row in rows]


def test_a_request_has_no_guessed_media_type(mixed) -> None:
    with mixed() as client:
        assert kinds(client, mime="video/") == ["response"]


def test_records_are_found_by_status_and_as_captures(mixed) -> None:
    with mixed() as client:
        assert kinds(client, captures=1) == ["response", "response"]
        assert len(kinds(client, captures=0)) == len(kinds(client)) == 4
        for status in ("404", "4xx", "4XX"):
            assert kinds(client, status=status) == ["response"]
        assert kinds(client, status="5xx") == []
        for wrong in ("4", "4%x", "abc", "40x"):
            answer = client.get("/api/records", status=wrong)
            assert (answer.status, "is not an HTTP status" in answer.json["error"]["message"]) == (400, True)


def view_of_range(client: Client, name: str) -> dict:
    (row,) = client.get("/api/records", q="film", captures=1).json["records"]
    path = f"/api/records/{row['id']}"
    client.get(path, view=name)
    frames = check(client.get(f"{path}/frames", view=name), "/records/{record_id}/frames")["frames"]
    client.get(f"{path}/payload", view=name, headers={"range": "bytes=700000-700999"})
    view = check(client.get(f"/api/views/{name}"), "/views/{view}")
    assert all(
        0 <= first < last <= frames
        for runs in ("frames", "damaged", "from_memory")
        for first, last in view[runs]
    )
    return view


def test_frames_that_were_in_memory_are_not_fetched(mixed) -> None:
    with mixed() as client:
        first, second = view_of_range(client, "one"), view_of_range(client, "two")
        assert (first["from_memory"], len(first["frames"])) == ([], 2)
        assert (second["frames"], second["bytes_read"]) == ([], 0)
        assert second["from_memory"] == first["frames"][-1:]


def test_a_damaged_frame_is_named(mixed) -> None:
    def damage(data: bytearray, film) -> None:
        with seekwarc.open(bytes(data)) as archive:
            plan = archive.record_at(film.offset).payload.plan(700_000, 700_001)
        data[plan.ranges[0][0] + 1000] ^= 0xFF

    with mixed() as client:
        whole = view_of_range(client, "whole")
    with mixed(damage) as client:
        view = view_of_range(client, "damaged")
    assert whole["damaged"] == []
    assert view["damaged"] == whole["frames"][-1:]
    assert "is damaged" in view["problem"]


def test_the_coverage_of_joined_parts_is_told(tmp_path, portal) -> None:
    out = PartsWriter(bytes(1000))
    out.part(0, 400, etag=None)
    out.part(300, 900, etag=None)
    (tmp_path / "parts.warc.zst").write_bytes(out.done())
    with Library([tmp_path / "parts.warc.zst"]) as library:
        library.read()
        client = Client(application(library), portal)
        row = client.get("/api/records").json["records"][0]
        record = check(client.get(f"/api/records/{row['id']}"), "/records/{record_id}")
    assert record["joined"] == {"parts": 2, "held": 900, "holes": [[900, 1000]], "is_proved": False}
    assert record["payload_size"] == 1000


def test_what_crawlers_make_of_a_page_is_named(tmp_path, portal) -> None:
    with seekwarc.open(tmp_path / "a.warc.gz", "w") as out:
        out.write_resource("urn:view:https://example.org/", b"x", "image/png")
        out.write_resource("urn:x:y", b"x", "image/png")
    with Library([tmp_path / "a.warc.gz"]) as library:
        library.read()
        answer = Client(application(library), portal).get("/api/records")
    rows = check(answer, "/records")["records"]
    assert [(row["uri"], row["page_part"], row["page"]) for row in rows] == [
        ("urn:view:https://example.org/", "screenshot", "https://example.org/"),
        ("urn:x:y", None, None),
    ]
