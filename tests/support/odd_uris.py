"""URIs with all that tools treat differently: ports, users, escapes, capitals, names of hosts, arguments."""

from __future__ import annotations

from random import Random

__all__ = ["OTHER_SCHEMES", "odd_uris"]

USERS = ["", "", "", "", "user@", "user:pass@", "www.x@"]
HOSTS = [
    *("example.org", "www.example.org", "WWW.Example.ORG", "www2.example.org", "www.www.example.org"),
    *("wwwx.example.org", "a.b.example.org", "example.org.", "a_b.example.org", "ex%61mple.org", "localhost"),
    *(
        "xn--bcher-kva.example",
        "www.xn--bcher-kva.example",
        "bücher.example",
        "BÜCHER.example",
        "straße.example",
    ),
    *("127.0.0.1", "[2001:db8::1]", "www42.co.uk"),
]
PORTS = ["", "", "", "", "", ":80", ":443", ":8080", ":0080", ":"]
SEGMENTS = [
    *("a", "B", "Caf%C3%A9", "caf%c3%a9", "café", "%7Euser", "~user", "%2F", "%2f", "a%20b", "a b"),
    *("..", ".", "%2e%2e", "", "", "index.html", "page.aspx", "(S(abcdefghijklmnopqrstuvwx))"),
    *("jsessionid=ABC", "x;jsessionid=0123456789ABCDEF0123456789ABCDEF", "%zz", "%", "a+b", "a,b", ")", "'"),
    *('"', "<x>", "{x}", "`", "|", "^", "日本", "%E6%97%A5", "*", "!", "@", ":", "a=b", "&"),
]
NAMES = [
    *("a", "b", "A", "a-b", "a.b", "sid", "PHPSESSID", "jsessionid", "utm_source", "q", "q[]", "%71", "ü"),
    *("_", "z", "cfid", "cftoken"),
]
VALUES = [
    *("", "1", "2", "B", "b", "%20", "+", "%2F", "/", "?", "ü", "%C3%BC", "a%26b", "=", "'", '"', "<", "%zz"),
    *("0123456789abcdef0123456789abcdef", "日", "https://www.example.org/?x=1", "{}", "`"),
]
OTHER_SCHEMES = [
    "urn:view:https://example.org/A?b=1&a=2",
    "urn:text:https://example.org/",
    "urn:thumbnail:https://www.example.org/Caf%C3%A9",
    "urn:pageinfo:https://example.org/dir/",
    "ftp://example.org/A/",
    "file:///screenshot.png",
    "dns:example.org",
    "mailto:a@b.org",
]


def odd_uris(count: int, *, seed: int = 0) -> list[str]:
    """Return URIs as people type them, and as browsers write them: no two are equal."""
    random, found = Random(seed), dict.fromkeys(OTHER_SCHEMES)
    while len(found) < count:
        path = "/" + "/".join(random.choice(SEGMENTS) for _ in range(random.randrange(4)))
        path += "/" * (random.random() < 0.3)
        pairs = (
            random.choice(NAMES) + random.choice(["=", "=", "=", ""]) + random.choice(VALUES)
            for _ in range(random.randrange(4))
        )
        query = "?" + "&".join(pairs) + "&" * (random.random() < 0.1) if random.random() < 0.6 else ""
        place = random.choice(USERS) + random.choice(HOSTS) + random.choice(PORTS)
        rest = (
            ("" if random.random() < 0.05 else path) + query + random.choice(["", "", "", "", "#frag", "#"])
        )
        found[f"{random.choice(['http', 'https'])}://{place}{rest}"] = None
    return list(found)
