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


@pytest.fixture
def shapes(monkeypatch: pytest.MonkeyPatch) -> rules._Shapes:
    new = rules._Shapes()
    monkeypatch.setattr(rules, "_shapes", new)
    return new


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("kind", ["response", "resource", "revisit", "warcinfo"])
def test_a_known_shape_hides_no_finding(kind: str, version: str, shapes: rules._Shapes) -> None:
    sound = having(legal_record(kind), "Content-Type", "text/plain")
    assert not check_header(header_of(sound, version))
    assert shapes.has(header_of(sound, version).raw)
    for name in sorted({*LEGAL, "X-Extension"} - {"Content-Length", "WARC-Type"}):
        for value in [*LEGAL.get(name, ["", "a b"]), *ILLEGAL.get(name, []), *OTHERS]:
            header = header_of(having(sound, name, value), version)
            # The second time by its shape, if it breaks no rule; so are later ones with other values.
            for _ in range(2):
                found = [it for it in check_header(header) if it.code != "grammar"]
                assert found == check_fields(header.fields, version=version)


def test_other_values_of_the_same_fields_are_a_known_shape(shapes: rules._Shapes) -> None:
    sound = having(legal_record("response"), "Content-Type", "text/plain")
    assert not check_header(header_of(sound, "1.1"))
    for name, value in [
        ("WARC-Target-URI", "https://[::1]:80/?a=%20#b"),
        ("WARC-Record-ID", "<a:b>"),
        ("WARC-Date", "2016"),
        ("Content-Type", 'text/html; charset="a b"'),
        ("Content-Length", "17"),
    ]:
        changed = [(it, value if it == name else old) for it, old in sound]
        assert shapes.has(header_of(changed, "1.1").raw)


def test_very_many_shapes_are_not_all_learnt(shapes: rules._Shapes) -> None:
    sound = having(legal_record("response"), "Content-Type", "text/plain")
    for number in range(200):
        assert not check_header(header_of([*sound, (f"X-{number}", "")], "1.1"))
    known = [shapes.has(header_of([*sound, (f"X-{number}", "")], "1.1").raw) for number in range(200)]
    assert sum(known) <= rules.MAX_SHAPES
