"""URLs of remote objects: which store they are in, by which path, and what of them may be shown."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from seekwarc.errors import SourceError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

__all__ = ["SCHEMES", "open_store", "shown_url"]

SCHEMES: Final = ("http", "https", "s3", "gs", "az", "abfs", "abfss")
REQUEST_TIMEOUT: Final = 30
"""Seconds for one request. What came until then is kept."""
CONNECT_TIMEOUT: Final = 5

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://")


def open_store(url: str) -> tuple[ObjectStore, str]:
    """Return the store that an object is in, and its path there.

    Credentials come from where the services' own tools have them: environment, configuration, the role of the
    machine.

    Raises:
        SourceError: The URL cannot be meant, its store is not configured, it contains a password, no such
            scheme is known, or obstore is not installed.
    """
    match = _SCHEME.match(url)
    scheme = match[1].lower() if match else ""
    if scheme not in SCHEMES:
        raise SourceError(f"the schemes that can be read are {', '.join(SCHEMES)}", source=shown_url(url))
    try:
        from obstore import store  # noqa: PLC0415 - heavy, and only installed with the extra `remote`
    except ImportError as error:
        raise SourceError(
            "reading from servers takes obstore: pip install 'seekwarc[remote]'", source=shown_url(url)
        ) from error
    try:
        parts = urlsplit(url)
        credentials = parts.username is not None or parts.password is not None
        host = parts.hostname
    except ValueError:
        host, credentials = None, False
    if not host:
        raise SourceError("this is no URL of an object", source=shown_url(url))
    if credentials and scheme in ("http", "https", "s3", "gs"):
        raise SourceError(
            "credentials have no place in a URL; use environment or configuration", source=shown_url(url)
        )
    options: dict[str, Any] = {
        "client_options": {
            "timeout": f"{REQUEST_TIMEOUT}s",
            "connect_timeout": f"{CONNECT_TIMEOUT}s",
            # A store is reached by HTTPS unless its configuration names another endpoint.
            "allow_http": scheme != "https",
        },
        # Asking again is decided by `RemoteSource`, where answers are checked and progress is known.
        "retry_config": {"max_retries": 0},
    }
    if scheme == "s3":
        options |= _aws_options()
    try:
        if scheme in ("http", "https"):
            return store.HTTPStore.from_url(url, **options), ""
        key = url.partition("://")[2].partition("/")[2]
        return store.from_url(url.removesuffix(key), **options), key
    except Exception:  # noqa: BLE001 - the text of whatever it is may hold the URL
        raise SourceError(
            "this is no URL of an object, or its store is not configured", source=shown_url(url)
        ) from None


def _aws_options() -> dict[str, Any]:
    """Take credentials from the configuration files of AWS, which obstore itself does not read."""
    given = {"AWS_ACCESS_KEY_ID", "AWS_SKIP_SIGNATURE", "AWS_WEB_IDENTITY_TOKEN_FILE"} & os.environ.keys()
    named = {"AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE"} & os.environ.keys()
    if given or not (named or os.path.isdir(os.path.expanduser("~/.aws"))):
        return {}
    try:
        from obstore.auth.boto3 import Boto3CredentialProvider  # noqa: PLC0415 - seldom used, seldom installed

        return {"credential_provider": Boto3CredentialProvider()}
    except Exception:  # noqa: BLE001 - without boto3, or what it needs, the machine's role is what is left
        return {}


def shown_url(url: str) -> str:
    """Return a URL without what may be secret in it: user, password, query, fragment."""
    bare = re.split(r"[?#]", url, maxsplit=1)[0]
    return re.sub(r"(?<=://)[^/]*@", "", bare)
