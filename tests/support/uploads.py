"""A bucket that uploads go to, and what the service sees and does of them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from seekwarc.storage import remote_url, upload
from tests.support.s3 import new_bucket

PART = 5 << 20
"""The smallest part that S3 takes."""
NEEDED = ("module:moto", "module:boto3", "module:obstore", "module:flask_cors")


class Bucket:
    """A bucket, and a service whose next answers a test decides."""

    def __init__(self) -> None:
        self.name = ""
        self.client: Any = None
        self.asked: list[str] = []
        """Method and query of each request for an object."""
        self.broken = ""
        """Requests for an object that contain this are answered by `status`, and not done."""
        self.status = 500
        self.open = threading.Event()
        """While it is not set, parts wait for their answers."""
        self.open.set()
        self.lost = ""
        """Requests for an object that contain this are done, and answered by 404."""

    def losing(self, method: str, asked: str) -> int | None:
        query = asked.partition("?")[2]
        return 404 if self.lost and self.lost in f"{method} {query}" else None

    def failing(self, method: str, asked: str) -> int | None:
        path, _, query = asked.partition("?")
        if path.count("/") < 2:
            return None
        self.asked.append(f"{method} {query}")
        if method == "PUT" and "partNumber" in query:
            self.open.wait(60)
        return self.status if self.broken and self.broken in self.asked[-1] else None

    def url(self, key: str) -> str:
        return f"s3://{self.name}/{key}"

    def listed(self) -> list[str]:
        found = self.client.list_objects_v2(Bucket=self.name).get("Contents", [])
        return [each["Key"] for each in found]

    def unfinished(self) -> list[str]:
        """Keys of uploads in parts that are neither complete nor aborted."""
        found = self.client.list_multipart_uploads(Bucket=self.name).get("Uploads", [])
        return [each["Key"] for each in found]

    def read(self, key: str) -> bytes:
        data: bytes = self.client.get_object(Bucket=self.name, Key=key)["Body"].read()
        return data


@contextlib.contextmanager
def uploads_to_a_bucket() -> Iterator[Bucket]:
    """Make a bucket; parts are small, and nothing is tried twice."""
    made = Bucket()
    with (
        pytest.MonkeyPatch.context() as patch,
        new_bucket(made.failing, made.losing) as (made.name, made.client),
    ):
        patch.setattr(upload, "PART_SIZE", PART)
        patch.setattr(upload, "MAX_HELD", PART)
        patch.setattr(remote_url, "UPLOAD_RETRIES", 0)
        yield made
        made.open.set()
