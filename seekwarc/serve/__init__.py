"""Archives over HTTP: payloads by range, a JSON interface, a page for people.

`answer` answers range requests in any framework and needs only seekwarc; `seekwarc.serve.pywb` needs pywb
too. Everything else needs the extra `serve`: `pip install 'seekwarc[serve]'`.
"""

from seekwarc.serve.respond import answer

__all__ = ["answer"]
