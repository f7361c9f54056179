"""Serving archives over HTTP: payloads by range, a JSON interface, a page for people.

`answer` answers range requests in any framework, and needs nothing but seekwarc; so does
`seekwarc.serve.pywb`. The rest takes the extra `serve`: `pip install 'seekwarc[serve]'`.
"""

from seekwarc.serve.respond import answer

__all__ = ["answer"]
