"""Headers with the fields of one that breaks no rule are checked in one pass, with the same findings."""

from __future__ import annotations

import pytest

from seekwarc.format import rules
from seekwarc.format.rules import check_fields, check_header
from seekwarc.format.warc import RecordHeader, parse_record_header
from tests.support.legal import ILLEGAL, LEGAL, Fields, having, legal_record

OTHERS = [" http:a ", "<a:b>", "<a:>", "http://a:b@c:d/", "http://a:b>@c/", "DNS:a", "1", "x"]


def header_of(fields: Fields, version: str) -> RecordHeader:
    lines = [f"WARC/{version}", *(f"{name}: {value}" for name, value in fields), "", ""]
    return parse_record_header("\r\n".join(lines).encode())


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("kind", ["response", "resource", "revisit", "warcinfo"])
def test_a_known_shape_hides_no_finding(kind: str, version: str) -> None:
    sound = having(legal_record(kind), "Content-Type", "text/plain")
    for name in sorted({*LEGAL, "X-Extension"} - {"Content-Length", "WARC-Type"}):
        shapes = rules._Shapes()
        for value in [*LEGAL.get(name, ["", "a b"]), *ILLEGAL.get(name, []), *OTHERS]:
            header = header_of(having(sound, name, value), version)
            found = check_header(header)
            assert [it for it in found if it.code != "grammar"] == check_fields(
                header.fields, version=version
            )
            assert not (found and shapes.find(header.raw))
            if not found:
                shapes.add(header)


def test_other_values_of_the_same_fields_are_a_known_shape() -> None:
    sound = having(legal_record("response"), "Content-Type", "text/plain")
    shapes = rules._Shapes()
    shapes.add(header_of(sound, "1.1"))
    for name, value in [
        ("WARC-Target-URI", "https://[::1]:80/?a=%20#b"),
        ("WARC-Record-ID", "<a:b>"),
        ("WARC-Date", "2016"),
        ("Content-Type", 'text/html; charset="a b"'),
        ("Content-Length", "17"),
    ]:
        changed = [(it, value if it == name else old) for it, old in sound]
        assert shapes.find(header_of(changed, "1.1").raw)


def test_very_many_shapes_are_not_all_learnt() -> None:
    sound = having(legal_record("response"), "Content-Type", "text/plain")
    headers = [header_of([*sound, (f"X-{number}", "")], "1.1") for number in range(200)]
    shapes = rules._Shapes()
    for header in headers:
        shapes.add(header)
    assert sum(shapes.find(header.raw) is not None for header in headers) == rules.MAX_SHAPES
