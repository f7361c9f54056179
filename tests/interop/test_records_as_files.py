"""Programs that know nothing of WARC read payloads through `warc://`, and fetch little of them.

The archive is on a server that counts. Each test says which share of the record was fetched, the end of the
file and the head of the record included.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc import tools
from tests.support.processes import settles
from tests.support.rangeserver import RangeServer
from tests.support.writing import noise

HOST = "http://data.example/"


@dataclass
class Archived:
    """A payload in an archive on a server."""

    url: str
    options: dict[str, Any]
    """Of the file system."""
    size: int
    fetched: Callable[[], int]
    """Returns the bytes that the server has sent."""

    @property
    def share(self) -> float:
        """Fetched bytes per byte of the payload."""
        return self.fetched() / self.size

    def file_system(self) -> Any:
        import fsspec  # noqa: PLC0415

        return fsspec.filesystem("warc", **self.options)


def write_archive(folder: Path, name: str, payload: bytes) -> Path:
    """Write an archive with a payload between others, and its index."""
    path = folder / "data.warc.zst"
    with seekwarc.open(path, "w") as out:
        out.write_resource(HOST + "before", noise(300_000, seed=1), "text/plain")
        head = {"Content-Type": "application/octet-stream"}
        out.write_response(HOST + name, payload, status=200, http_headers=head)
        out.write_resource(HOST + "after", noise(300_000, seed=2), "text/plain")
    tools.index([path], folder / "data.cdxj")
    return path


@contextmanager
def archived(folder: Path, name: str, payload: bytes) -> Iterator[Archived]:
    path = write_archive(folder, name, payload)
    with RangeServer(path.read_bytes()) as server:
        options = {"index": str(folder / "data.cdxj"), "files": server.root}
        yield Archived(
            f"warc://{HOST}{name}", options, len(payload), lambda: sum(it.sent for it in server.asked)
        )


def rows_of_csv() -> bytes:
    lines = (f"{number},{noise(24, seed=number).hex()}\n" for number in range(120_000))
    return b"number,text\n" + "".join(lines).encode()


# pandas and pyarrow.


@pytest.fixture
def on_s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], tuple[str, Callable[[], int]]]]:
    """Upload a file to a bucket; return its URL and what tells the bytes that were sent of it."""
    import boto3  # noqa: PLC0415
    from moto.server import DomainDispatcherApplication, create_backend_app  # noqa: PLC0415
    from werkzeug.serving import make_server  # noqa: PLC0415

    service = DomainDispatcherApplication(create_backend_app)
    sent: list[int] = []

    def counted(environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        def note(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            if environ["REQUEST_METHOD"] == "GET":
                sent.append(int(dict(headers).get("Content-Length", 0)))
            return start(status, headers, *rest)

        return service(environ, note)

    server = make_server("127.0.0.1", 0, counted, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    for name, value in {
        "ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        "ACCESS_KEY_ID": "anyone",
        "SECRET_ACCESS_KEY": "anything",
        "REGION": "us-east-1",
        "DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    boto3.client("s3").create_bucket(Bucket="records-as-files")

    def upload(path: Path) -> tuple[str, Callable[[], int]]:
        boto3.client("s3").upload_file(str(path), "records-as-files", path.name)
        return f"s3://records-as-files/{path.name}", lambda: sum(sent)

    yield upload
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
@pytest.mark.needs("module:moto", "module:boto3", "module:obstore", "module:flask_cors", "module:pandas")
def test_pandas_reads_the_end_of_a_csv_on_s3(on_s3: Callable[..., Any], tmp_path: Path) -> None:
    import fsspec  # noqa: PLC0415
    import pandas as pd  # noqa: PLC0415

    payload = rows_of_csv()
    path = write_archive(tmp_path, "rows.csv", payload)
    url, fetched = on_s3(path)
    # The first rows: pandas takes the URL itself.
    options = {"index": str(tmp_path / "data.cdxj"), "files": url.rpartition("/")[0]}
    head = pd.read_csv(f"warc://{HOST}rows.csv", storage_options=options, nrows=5)
    assert list(head["number"]) == [0, 1, 2, 3, 4]
    share = fetched() / len(payload)
    print(f"first rows: {share:.1%} of the record")
    assert share < 0.25
    # The last 64 KiB.
    before = fetched()
    with fsspec.open(f"warc://{HOST}rows.csv", **options) as file:
        file.seek(-(64 << 10), 2)
        file.readline()
        tail = pd.read_csv(file, names=["number", "text"])
    assert tail["number"].iloc[-1] == 119_999
    share = (fetched() - before) / len(payload)
    print(f"last 64 KiB: {share:.1%} of the record")
    assert share < 0.2


@pytest.mark.slow
@pytest.mark.needs("module:moto", "module:boto3", "module:obstore", "module:flask_cors", "module:pyarrow")
def test_pandas_reads_one_column_of_parquet_on_s3(on_s3: Callable[..., Any], tmp_path: Path) -> None:
    import pandas as pd  # noqa: PLC0415

    frame = pd.DataFrame({"small": range(30_000), "large": [noise(200, seed=it) for it in range(30_000)]})
    buffer = io.BytesIO()
    frame.to_parquet(buffer, row_group_size=3_000)
    url, fetched = on_s3(write_archive(tmp_path, "rows.parquet", buffer.getvalue()))
    options = {"index": str(tmp_path / "data.cdxj"), "files": url.rpartition("/")[0]}
    found = pd.read_parquet(f"warc://{HOST}rows.parquet", columns=["small"], storage_options=options)
    assert list(found["small"]) == list(range(30_000))
    share = fetched() / len(buffer.getvalue())
    print(f"one column: {share:.1%} of the record")
    assert share < 0.4


@pytest.mark.slow
@pytest.mark.needs("module:moto", "module:boto3", "module:obstore", "module:flask_cors")
def test_a_pattern_stands_for_the_objects_of_a_bucket(on_s3: Callable[..., Any], tmp_path: Path) -> None:
    from seekwarc.compat.fsspec import WarcFileSystem  # noqa: PLC0415

    for name in ("a-1.warc.zst", "a-2.warc.zst", "b-1.warc.zst"):
        with seekwarc.open(tmp_path / name, "w") as out:
            out.write_resource(HOST + name, name.encode(), "text/plain")
        url, _ = on_s3(tmp_path / name)
    bucket = url.rpartition("/")[0]
    archive = WarcFileSystem(f"{bucket}/a-*.warc.zst")
    assert archive.find("") == [HOST + "a-1.warc.zst", HOST + "a-2.warc.zst"]
    assert archive.cat_file(HOST + "a-2.warc.zst") == b"a-2.warc.zst"
    archive.close()
    with pytest.raises(FileNotFoundError, match="no object matches"):
        WarcFileSystem(f"{bucket}/none-*")


@pytest.mark.needs("module:pyarrow", "module:obstore")
def test_pyarrow_filters_a_dataset(tmp_path: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.dataset as ds  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415
    from pyarrow.fs import FSSpecHandler, PyFileSystem  # noqa: PLC0415

    table = pa.table({"number": range(20_000), "data": [noise(150, seed=it) for it in range(20_000)]})
    buffer = io.BytesIO()
    pq.write_table(table, buffer, row_group_size=1_000)
    with archived(tmp_path, "rows.parquet", buffer.getvalue()) as record:
        file_system = PyFileSystem(FSSpecHandler(record.file_system()))
        dataset = ds.dataset(HOST + "rows.parquet", filesystem=file_system)
        found = dataset.to_table(filter=ds.field("number") == 12_345)
        assert found.column("data").to_pylist() == [noise(150, seed=12_345)]
        print(f"one row group of 20: {record.share:.1%} of the record")
        assert record.share < 0.4


# Arrays.


@pytest.fixture(scope="module")
def netcdf(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    import h5netcdf  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    path = tmp_path_factory.mktemp("netcdf") / "temperature.nc"
    values = np.random.default_rng(3).random((800, 64, 128), dtype="float32")
    with h5netcdf.File(path, "w") as file:
        file.dimensions = {"time": 800, "y": 64, "x": 128}
        file.create_variable("temperature", ("time", "y", "x"), data=values, chunks=(1, 64, 128))
    return path.read_bytes()


@pytest.mark.slow
@pytest.mark.needs("module:h5py", "module:h5netcdf", "module:obstore")
def test_h5py_reads_a_slice(netcdf: bytes, tmp_path: Path) -> None:
    import h5py  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    with archived(tmp_path, "temperature.nc", netcdf) as record:
        with record.file_system().open(HOST + "temperature.nc") as file, h5py.File(file) as data:
            found = data["temperature"][650, :, 7]
        with h5py.File(io.BytesIO(netcdf)) as data:
            assert np.array_equal(found, data["temperature"][650, :, 7])
        print(f"one chunk of 800: {record.share:.1%} of the record")
        assert record.share < 0.25


@pytest.mark.slow
@pytest.mark.needs("module:xarray", "module:h5netcdf", "module:obstore")
def test_xarray_opens_netcdf_and_reads_a_slice(netcdf: bytes, tmp_path: Path) -> None:
    import xarray as xr  # noqa: PLC0415

    with archived(tmp_path, "temperature.nc", netcdf) as record:
        file = record.file_system().open(HOST + "temperature.nc")
        with xr.open_dataset(file, engine="h5netcdf") as data, xr.open_dataset(io.BytesIO(netcdf)) as whole:
            assert data["temperature"][40, 3].equals(whole["temperature"][40, 3])
        file.close()
        print(f"one chunk of 800: {record.share:.1%} of the record")
        assert record.share < 0.25


@pytest.mark.slow
@pytest.mark.needs("module:zarr", "module:obstore")
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
def test_zarr_reads_a_zipped_store(tmp_path: Path) -> None:
    import numpy as np  # noqa: PLC0415
    import zarr  # noqa: PLC0415

    values = np.random.default_rng(3).integers(0, 1 << 30, (100, 10_000))
    store = zarr.storage.ZipStore(tmp_path / "store.zip", mode="w")
    array = zarr.create_array(store, shape=values.shape, chunks=(1, 10_000), dtype=values.dtype)
    array[:] = values
    store.close()
    with archived(tmp_path, "store.zip", (tmp_path / "store.zip").read_bytes()) as record:
        url = f"zip://::{record.url}"
        found = zarr.storage.FsspecStore.from_url(
            url, storage_options={"warc": record.options}, read_only=True
        )
        assert np.array_equal(zarr.open_array(found, mode="r", zarr_format=3)[77, :5], values[77, :5])
        print(f"one chunk of 100: {record.share:.1%} of the record")
        assert record.share < 0.25


# Pictures and films.


@pytest.mark.needs("module:PIL", "module:obstore")
def test_pillow_reads_a_part_of_a_picture(tmp_path: Path) -> None:
    from PIL import Image  # noqa: PLC0415

    picture = Image.frombytes("RGB", (1_000, 2_000), noise(6_000_000, seed=8))
    buffer = io.BytesIO()
    picture.save(buffer, "TIFF")
    with archived(tmp_path, "map.tif", buffer.getvalue()) as record:
        with record.file_system().open(HOST + "map.tif") as file, Image.open(file) as found:
            assert found.size == (1_000, 2_000)
        print(f"the head of a picture: {record.share:.1%} of the record")
        assert record.share < 0.1
        with record.file_system().open(HOST + "map.tif") as file, Image.open(file) as found:
            assert found.getpixel((999, 1_999)) == picture.getpixel((999, 1_999))


@pytest.fixture(scope="module")
def film() -> bytes:
    """Return a film of 40 seconds, in which each second can be decoded alone."""
    import av  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    buffer = io.BytesIO()
    chance = np.random.default_rng(5)
    with av.open(buffer, "w", format="mp4") as out:
        stream = out.add_stream("mpeg4", rate=5, options={"g": "5"})
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
        stream.bit_rate = 4_000_000
        for number in range(200):
            pixels = chance.integers(0, 255, (240, 320, 3), dtype="uint8")
            pixels[:40, :40] = number
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            out.mux(stream.encode(frame))
        out.mux(stream.encode())
    return buffer.getvalue()


@pytest.mark.slow
@pytest.mark.needs("module:av", "module:obstore")
def test_pyav_seeks_in_a_film(film: bytes, tmp_path: Path) -> None:
    import av  # noqa: PLC0415

    with archived(tmp_path, "film.mp4", film) as record:
        with record.file_system().open(HOST + "film.mp4") as file, av.open(file) as found:
            stream = found.streams.video[0]
            found.seek(30 * av.time_base)
            picture = next(found.decode(stream))
            assert 28 <= picture.time <= 30
            assert abs(int(picture.to_ndarray(format="gray")[20, 20]) - round(picture.time * 5)) < 25
        print(f"a picture of a film of 40 s: {record.share:.1%} of the record")
        assert record.share < 0.5


# A mounted folder.


@contextmanager
def mounted(record: Archived, folder: Path) -> Iterator[Path]:
    """Mount an archive; skips the test where that is impossible."""
    folder.mkdir()
    program = (
        "import fsspec, fsspec.fuse, sys\n"
        "fs = fsspec.filesystem('warc', index=sys.argv[1], files=sys.argv[2])\n"
        "fsspec.fuse.run(fs, '', sys.argv[3], foreground=True, threads=False)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", program, *record.options.values(), folder],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        settles(lambda: process.poll() is not None or os.path.ismount(folder))
        if not os.path.ismount(folder):
            process.kill()
            reason = process.communicate()[1].decode().strip().splitlines()
            pytest.skip(f"no FUSE here: {reason[-1] if reason else 'nothing was mounted'}")
        yield folder
    finally:
        if (unmount := shutil.which("fusermount")) is not None:
            subprocess.run([unmount, "-u", "-z", folder], capture_output=True, check=False)
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.needs("module:fuse", "module:av", "module:obstore", "ffmpeg")
def test_ffmpeg_reads_a_film_from_a_mounted_archive(film: bytes, tmp_path: Path) -> None:
    with archived(tmp_path, "film.mp4", film) as record, mounted(record, tmp_path / "mount") as folder:
        site = folder / "http:" / "data.example"
        assert sorted(os.listdir(site)) == ["after", "before", "film.mp4"]
        assert (site / "film.mp4").stat().st_size == len(film)
        assert (site / "after").read_bytes() == noise(300_000, seed=2)
        with pytest.raises(OSError, match=r"Read-only|denied"), open(site / "new", "wb"):
            pass
        before = record.fetched()
        command = ["ffmpeg", "-v", "error", "-ss", "30", "-i", site / "film.mp4", "-frames:v", "1"]
        done = subprocess.run(
            [*command, "-f", "rawvideo", "-pix_fmt", "gray", "-"], capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        assert len(done.stdout) == 320 * 240
        share = (record.fetched() - before) / record.size
        print(f"a picture of a film of 40 s: {share:.1%} of the record")
        assert share < 0.5
