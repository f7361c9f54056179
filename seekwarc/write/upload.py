"""An output that is an upload: the object gets its name when it is complete."""

from __future__ import annotations

from seekwarc.compiling import override
from seekwarc.errors import TargetExistsError
from seekwarc.storage.upload import Upload
from seekwarc.write.files import Existing
from seekwarc.write.output import Output

__all__ = ["UploadOutput"]


class UploadOutput(Output):
    """An object in S3, Google Cloud Storage or Azure. Data already sent cannot be changed.

    One that another process makes under the same URL meanwhile is replaced, whatever `existing` is: stores
    cannot refuse that for uploads in parts.
    """

    def __init__(self, url: str, *, existing: Existing) -> None:
        self._upload = Upload(url)
        self._existing = existing
        self._is_committed = False
        self.name = self._upload.name
        self.filename = self.name.rpartition("/")[2]
        self._refuse_existing()

    def _refuse_existing(self) -> None:
        if self._existing == "error" and self._upload.exists():
            raise TargetExistsError(
                "exists already; name another object, or allow it to be replaced (`--force`, "
                'existing="overwrite")',
                source=self.name,
            )

    @override
    def write(self, data: bytes) -> None:
        self._upload.write(data)

    @override
    def flush(self) -> None:
        """See `Output.flush`. Nothing of an object survives the process before it is complete."""

    @override
    def mark(self) -> None:
        self._upload.mark()

    @override
    def rollback(self, size: int) -> bool:
        return self._upload.cut(size)

    @override
    def seal(self) -> None:
        """See `Output.seal`. To send all of an object is to make it; `abort` removes it again."""
        if not self._upload.is_made:
            self._refuse_existing()
            self._upload.finish()

    @override
    def commit(self) -> None:
        self.seal()
        self._is_committed = True

    @override
    def abort(self) -> None:
        if not self._is_committed:
            self._upload.abort()

    @override
    def abort_committed(self) -> None:
        self._upload.abort()

    @override
    def leave(self) -> str:
        self.abort()
        return "its upload was aborted; no object was made"
