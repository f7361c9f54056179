"""URLs of remote objects: the store and path that they name, and the part of them that may be shown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from seekwarc.errors import SourceError
from seekwarc.system import after_fork_in_child

if TYPE_CHECKING:
    from obstore.store import ObjectStore

__all__ = ["SCHEMES", "check_forked", "is_url", "open_store", "shown_url"]

SCHEMES: Final = ("http", "https", "s3", "gs", "az", "abfs", "abfss")
REQUEST_TIMEOUT: Final = 30
"""Seconds for one request. Bytes that came in this time are kept."""
CONNECT_TIMEOUT: Final = 5
UPLOAD_TIMEOUT: Final = 300
"""Seconds in which a part of an object must have been sent."""
UPLOAD_RETRIES: Final = 6
MAX_STORES: Final = 64
"""Stores that are kept, with their connections, for the next object in them."""
CONFIGURATION: Final = ("AWS_", "GOOGLE_", "AZURE_")
"""How names of variables begin that stores are configured by."""
PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://")
_PLAIN_PATH = re.compile(r"(?:(?!\.\.?/)[a-zA-Z0-9._-]+/)*(?!\.\.?$)[a-zA-Z0-9._-]+")


def is_url(name: object) -> TypeGuard[str]:
    """Tell whether a name is the URL of an object, not the path of a file."""
    return isinstance(name, str) and "://" in name


def open_store(url: str, *, uploads: bool = False) -> tuple[ObjectStore, str]:
    """Return the store that an object is in, and its path there; `uploads` are retried by the store.

    Credentials are found where the services' own tools find them: environment, configuration, the role of the
    machine.
    """
    match = _SCHEME.match(url)
    scheme = match[1].lower() if match else ""
    if scheme not in SCHEMES:
        raise SourceError(
            f"this URL scheme is not supported; use one of {', '.join(SCHEMES)}", source=shown_url(url)
        )
    try:
        import obstore  # noqa: F401
    except ImportError as error:
        raise SourceError(
            "obstore is needed for URLs; run pip install 'seekwarc[remote]'", source=shown_url(url)
        ) from error
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        credentials = parts.username is not None or parts.password is not None
        host = parts.hostname
    except ValueError:
        host, credentials = None, False
    if not host:
        raise SourceError("the URL is invalid", source=shown_url(url))
    if credentials and scheme in ("http", "https", "s3", "gs"):
        raise SourceError(
            "the URL contains credentials; set them in the environment or configuration instead",
            source=shown_url(url),
        )
    key = url.partition("://")[2].partition("/")[2]
    if scheme in ("http", "https") and not _PLAIN_PATH.fullmatch(key):
        # The URL as it is: what a store makes of such a path is for each store to say.
        key = ""
    try:
        store = _store(url.removesuffix(key), scheme, frozenset(_configuration(scheme)), uploads=uploads)
    except Exception:  # noqa: BLE001 - the text of whatever it is may hold the URL
        raise SourceError(
            "the URL is invalid, or its store is not configured", source=shown_url(url)
        ) from None
    return store, key


@lru_cache(MAX_STORES)
def _store(base: str, scheme: str, _: frozenset[tuple[str, str]], *, uploads: bool) -> ObjectStore:
    """Return the store of all objects below a URL: to make one takes longer than many a request."""
    from obstore import store

    options: dict[str, Any] = {
        "client_options": {
            "timeout": f"{UPLOAD_TIMEOUT if uploads else REQUEST_TIMEOUT}s",
            "connect_timeout": f"{CONNECT_TIMEOUT}s",
            # A store is reached by HTTPS unless its configuration names another endpoint.
            "allow_http": scheme != "https",
        },
        # `RemoteSource` retries, since it checks answers and knows how much has come.
        "retry_config": {"max_retries": UPLOAD_RETRIES if uploads else 0},
    }
    if scheme == "s3":
        options |= _aws_options()
    if scheme in ("http", "https"):
        # Ranges must be of the file as it is stored, so nothing may be compressed on its way.
        options["client_options"]["default_headers"] = {"Accept-Encoding": "identity"}
        return store.HTTPStore.from_url(base, **options)
    return store.from_url(base, **options)


def _configuration(scheme: str) -> Iterator[tuple[str, str]]:
    """Yield what the environment says about stores, and whether a file may."""
    if scheme in ("http", "https"):
        # All of the environment takes as long to look through as half of a request.
        yield from ((name, os.environ.get(name, "")) for it in PROXIES for name in (it, it.lower()))
        return
    yield "~/.aws", str(os.path.isdir(os.path.expanduser("~/.aws")))
    for name, value in os.environ.items():
        if name.startswith(CONFIGURATION) or name.upper() in PROXIES:
            yield name, value


def _aws_options() -> dict[str, Any]:
    """Return options that read the credentials of AWS's configuration files, which obstore does not."""
    given = {"AWS_ACCESS_KEY_ID", "AWS_SKIP_SIGNATURE", "AWS_WEB_IDENTITY_TOKEN_FILE"} & os.environ.keys()
    named = {"AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE"} & os.environ.keys()
    if given or not (named or os.path.isdir(os.path.expanduser("~/.aws"))):
        return {}
    try:
        from obstore.auth.boto3 import Boto3CredentialProvider

        return {"credential_provider": Boto3CredentialProvider()}
    except Exception:  # noqa: BLE001 - without boto3, or what it needs, the role of the machine is used
        return {}


class _Forks:
    """Whether this process used obstore, and whether it was forked from one that had.

    Fork copies no threads, so obstore would wait for its own for ever.
    """

    used = False
    lost = False


def check_forked(name: str) -> None:
    """Refuse to use obstore in a process that was forked from one that had used it."""
    if _Forks.lost:
        raise SourceError(
            "obstore was used before this process was forked, and its threads were not copied; "
            'start processes with multiprocessing.get_context("spawn")',
            source=name,
        )
    _Forks.used = True


def _after_fork() -> None:
    _Forks.lost = _Forks.used


after_fork_in_child(_after_fork)


def shown_url(url: str) -> str:
    """Return a URL without its parts that may be secret: user, password, query, fragment."""
    bare = re.split(r"[?#]", url, maxsplit=1)[0]
    return re.sub(r"(?<=://)[^/]*@", "", bare)
