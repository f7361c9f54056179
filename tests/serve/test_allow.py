"""Payloads for pages of other origins: of those that are named, and no others."""

from __future__ import annotations

import pytest

from seekwarc.serve.app import application
from seekwarc.serve.payload import payload_app
from tests.serve.asgi import Answer, Client

PAGE = "https://page.example"
OTHER = "https://other.example"
URI = "http://example.org/film.mp4"
PREFLIGHT = {"access-control-request-method": "GET", "access-control-request-headers": "range"}


@pytest.fixture
def allowing(library, portal):
    def make(*allow: str) -> Client:
        return Client(application(library, allow=allow), portal)

    return make


def policy(answer: Answer) -> tuple[str | None, str]:
    """Return who may read an answer, and who may embed it."""
    fields = answer.headers
    return fields.get("access-control-allow-origin"), fields["cross-origin-resource-policy"]


def test_a_named_origin_may_read_and_embed_payloads(allowing) -> None:
    client = allowing(PAGE, "http://localhost:8000/")
    for path in ("/payload", "/block"):
        for origin in (PAGE, "http://localhost:8000"):
            asked = {"origin": origin, "range": "bytes=0-9"}
            answer = client.get(path, headers=asked, uri=URI)
            assert (answer.status, policy(answer)) == (206, (origin, "cross-origin"))
            exposed = answer.headers["access-control-expose-headers"]
            assert exposed == "Content-Range, Content-Length, ETag, Accept-Ranges"
    missing = client.get("/payload", headers={"origin": PAGE}, uri="http://example.org/none")
    assert (missing.status, policy(missing)) == (404, (PAGE, "cross-origin"))
    ask = client.ask("OPTIONS", "/payload", headers={"origin": PAGE, **PREFLIGHT}, uri=URI)
    assert (ask.status, ask.headers["access-control-allow-origin"]) == (200, PAGE)
    assert "Range" in ask.headers["access-control-allow-headers"]


@pytest.mark.parametrize("origin", [OTHER, "null", "https://page.example.evil", "http://page.example"])
def test_other_origins_may_not(allowing, origin: str) -> None:
    client = allowing(PAGE)
    answer = client.get("/payload", headers={"origin": origin}, uri=URI)
    assert policy(answer) == (None, "same-origin")
    ask = client.ask("OPTIONS", "/payload", headers={"origin": origin, **PREFLIGHT}, uri=URI)
    assert (ask.status, "access-control-allow-origin" in ask.headers) == (400, False)


def test_an_image_without_an_origin_is_known_by_its_referer(allowing) -> None:
    client = allowing(PAGE)
    for referer, embeds in (
        (f"{PAGE}/a/b", "cross-origin"),
        (f"{OTHER}/{PAGE}", "same-origin"),
        ("", "same-origin"),
    ):
        answer = client.get("/payload", headers={"referer": referer}, uri=URI)
        assert policy(answer) == (None, embeds)
        assert answer.headers["vary"] == "Origin, Referer"


def test_only_payloads_are_allowed(allowing, found) -> None:
    client = allowing("*")
    record = f"/api/records/{found(q='film.mp4')}"
    for path in ("/", "/main.js", "/api/records", "/api/summary", record, f"{record}/payload"):
        answer = client.get(path, headers={"origin": PAGE, "referer": f"{PAGE}/"})
        assert (answer.status, policy(answer)) == (200, (None, "same-origin"))
        ask = client.ask("OPTIONS", path, headers={"origin": PAGE, **PREFLIGHT})
        assert "access-control-allow-origin" not in ask.headers


def test_all_origins_only_if_the_user_says_so(allowing) -> None:
    answer = allowing("*").get("/payload", headers={"origin": OTHER}, uri=URI)
    assert policy(answer) == ("*", "cross-origin")
    for client in (allowing(), allowing(PAGE)):
        answer = client.get("/payload", headers={"origin": OTHER}, uri=URI)
        assert policy(answer) == (None, "same-origin")


def test_a_wrong_origin_is_an_error(library) -> None:
    with pytest.raises(ValueError, match="is not an origin"):
        application(library, allow=[f"{PAGE}/path"])
    with pytest.raises(TypeError, match="expected a list of origins"):
        payload_app(lambda record_id, view=None: None, origins=PAGE)
