"""Files of the package as answers."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from seekwarc.serve.static import static
from tests.serve.asgi import Client


@pytest.mark.parametrize(("name", "kind"), [("a.js", "text/javascript"), ("a.html", "text/html")])
def test_a_file_has_its_type_and_an_entity_tag(portal, name, kind) -> None:
    client = Client(Starlette(routes=[Route("/a", static(b"text", name, {"x-ours": "1"}))]), portal)
    answer = client.get("/a")
    assert (answer.status, answer.body, answer.headers["x-ours"]) == (200, b"text", "1")
    assert answer.headers["content-type"] == f"{kind}; charset=utf-8"
    again = client.get("/a", headers={"if-none-match": answer.headers["etag"]})
    assert (again.status, again.body, again.headers["x-ours"]) == (304, b"", "1")
