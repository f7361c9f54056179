"""The revisit profiles of the standard, under all names in use.

Source: WARC 1.1, clauses 6.7.2 and 6.7.3.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "IDENTICAL_PAYLOAD_DIGEST",
    "SERVER_NOT_MODIFIED",
    "is_identical_payload",
    "is_server_not_modified",
]

IDENTICAL_PAYLOAD_DIGEST: Final = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
SERVER_NOT_MODIFIED: Final = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
# In use: the names of WARC 1.0 and its drafts; names without "revisit/", as in example B.6 of WARC 1.1; and
# Heritrix's name (uri-agnostic-) for identical payloads of different URIs.
_IDENTICAL = r"http://netpreserve\.org/warc/(?:0\.1[78]|1\.[01])/(?:revisit/)?(?:uri-agnostic-)?identical-payload-digest"
_NOT_MODIFIED = r"http://netpreserve\.org/warc/(?:0\.1[78]|1\.[01])/(?:revisit/)?server-not-modified"


def is_identical_payload(profile: str | None) -> bool:
    """Return whether a WARC-Profile is that of clause 6.7.2."""
    return profile is not None and re.fullmatch(_IDENTICAL, profile) is not None


def is_server_not_modified(profile: str | None) -> bool:
    """Return whether a WARC-Profile is that of clause 6.7.3."""
    return profile is not None and re.fullmatch(_NOT_MODIFIED, profile) is not None
