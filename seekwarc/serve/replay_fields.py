"""Fields of archived answers, as the service worker of a replay gets them.

Archived fields are sent to the worker, which gives them to the replayed page. But the browser acts on many
fields while the worker fetches, and the worker itself believes some: those are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, urljoin

from seekwarc.format.header_fields import is_token
from seekwarc.format.http import HttpHead

__all__ = ["KEPT", "RAW_POLICY", "REPLAY_POLICY", "archived_fields", "redirect_target", "without_controls"]

RAW_POLICY: Final = "default-src 'none'; sandbox"
"""Of archived bytes that are opened without the worker."""
REPLAY_POLICY: Final = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; object-src 'none'; form-action 'self'; "
    "sandbox allow-scripts allow-same-origin allow-forms allow-modals allow-pointer-lock allow-downloads"
)
"""Of replayed documents, set by the worker. XML documents run unrewritten, so it must hold by itself."""
REDIRECTS: Final = frozenset({300, 301, 302, 303, 307, 308})
KEPT: Final = "!#$%&'()*+,/:;=?@[]~"
"""Characters of a URI that stay unescaped in addresses and fields."""
MAX_VALUE: Final = 32 << 10
"""Characters of an archived value that is passed on."""

_DROPPED = re.compile(
    # The browser acts on these while the worker fetches.
    r"set-cookie2?|clear-site-data|(?:www|proxy)-authenticate|strict-transport-security|public-key-pins.*|nel|"
    r"report-to|reporting-.*|alt-svc|refresh|link|service-worker.*|speculation-rules|supports-loading-mode|"
    r"origin-trial|accept-ch|critical-ch|permissions-policy|feature-policy|document-policy|referrer-policy|"
    r"sourcemap|x-sourcemap|activate-storage-access|set-login|observe-browsing-topics|no-vary-search|"
    # The answer has its own of these.
    r"content-length|content-range|content-encoding|transfer-.*|connection|keep-alive|te|trailer|upgrade|"
    r"proxy-.*|cache-control|pragma|expires|age|vary|etag|last-modified|accept-ranges|location|date|server|"
    r"memento-datetime|content-security-policy.*|x-frame-options|"
    r"access-control-.*|cross-origin-.*|origin-agent-cluster|timing-allow-origin|"
    # The worker believes these.
    r"x-(?:redirect|orig|proxy|wabac|archive)-.*|x-link|x-location"
)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")


def archived_fields(head: HttpHead, uri: str, coding: str | None) -> Iterator[tuple[str, str]]:
    """Yield the fields that tell the worker of an archived answer; `coding` is that of the body as sent.

    Redirects and errors are sent in fields of the worker, since the status must be 200: the browser would
    follow the first, and the worker replaces the second by messages of its own.
    """
    for name, value in head.headers:
        if is_token(name) and not _DROPPED.fullmatch(name.lower()):
            yield name.lower(), without_controls(value)
    cookies = head.get_all("Set-Cookie")
    if cookies:
        yield "x-proxy-set-cookie", without_controls(",".join(cookies))
    if coding is not None:
        yield "content-encoding", coding
    target = redirect_target(head, uri)
    if target is not None:
        yield "x-orig-location", target
    if target is not None or (head.status or 0) >= 400:
        yield "x-redirect-status", str(head.status)
        yield "x-redirect-statustext", _CONTROLS.sub(" ", head.reason or "").strip() or "Archived"


def redirect_target(head: HttpHead, uri: str) -> str | None:
    """Return the absolute URI that an archived answer redirects to, in ASCII; None if it does not."""
    to = head.get("Location") if head.status in REDIRECTS else None
    if to is None:
        return None
    try:
        joined = urljoin(uri, to)
    except ValueError:
        joined = to
    raw = without_controls(joined).encode("latin-1")
    return quote(raw, safe=KEPT)[:MAX_VALUE]


def without_controls(value: str) -> str:
    """Return a value that can be sent: latin-1, and nothing that ends a field or is refused by a server."""
    # The bytes that were archived, each as a character.
    text = value.encode("utf-8", "surrogateescape").decode("latin-1")
    return _CONTROLS.sub(" ", text)[:MAX_VALUE].strip()
