"""Files worked on by the workers of a Dask cluster."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from seekwarc.errors import FormatError, FormatWarning, SeekWarcError, SourceError
from seekwarc.jobs.batch import run
from seekwarc.jobs.outcome import Job, Status
from seekwarc.jobs.work import JobContext
from seekwarc.storage.opening import open_source
from tests.support.foreign import Foreign
from tests.support.outcomes import Heard
from tests.support.writing import noise

pytestmark = [pytest.mark.slow, pytest.mark.needs("module:distributed")]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    import dask  # noqa: PLC0415
    from distributed import LocalCluster  # noqa: PLC0415

    # By default, four workers must die; and one that died unnoticed is waited for five minutes.
    settings = {"distributed.scheduler.allowed-failures": 1, "distributed.scheduler.worker-ttl": "60 s"}
    with (
        dask.config.set(settings),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
    ):
        yield cluster.scheduler_address


@pytest.fixture
def pool(address):
    from seekwarc.compat.cluster import Cluster  # noqa: PLC0415

    return Cluster(address)


def work(job: Job, context: JobContext) -> tuple[Status, object]:
    """Do what the source's name says; a module's function, for workers must find it."""
    name = os.path.basename(job.source)
    context.emit(f"at {name}")
    source = context.on_progress(open_source(job.source), "reading")
    # A worker may die just when it has finished a file, which is then made again.
    with context.output(job.target, "overwrite") as output:
        output.write(source.read(0, 1000))
        output.flush()
        died = Path(job.source + ".died")
        if name == "killed" or (name == "unlucky" and not died.exists()):
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        elif name == "damaged":
            raise FormatError("damaged", source=name, offset=3)
        elif name == "slow":
            for end in range(1000, 2200):
                time.sleep(0.05)
                source.read(0, end)
        elif name == "warns":
            warnings.warn("odd", FormatWarning, stacklevel=1)
        output.commit()
    return Status.DONE, os.getpid()


def jobs_of(folder: Path, *names: str) -> list[Job]:
    (folder / "new").mkdir(parents=True)
    for name in names:
        (folder / name).write_bytes(bytes(100_000))
    return [Job(str(folder / name), str(folder / "new" / name)) for name in names]


def statuses(heard: Heard) -> dict[str, str]:
    return {os.path.basename(name): status for name, status in heard.statuses.items()}


def test_workers_work_and_report(tmp_path, pool) -> None:
    jobs = jobs_of(tmp_path, "one", "warns", "unlucky", "damaged")
    heard = Heard()
    with pytest.warns(FormatWarning, match="odd"):
        assert run(jobs, work, heard, pool=pool, keep_going=True, folder=str(tmp_path / "new")) == 1
    done = dict.fromkeys(("one", "warns", "unlucky"), "done")
    assert statuses(heard) == {**done, "damaged": "failed"}
    assert heard.outcomes[str(tmp_path / "damaged")].failure.kind == "format"
    assert os.getpid() not in {outcome.result for outcome in heard.outcomes.values()}
    assert sorted(event for _, event in heard.events) == [
        *(f"at {name}" for name in ("damaged", "one", "unlucky", "warns"))
    ], "what died reports nothing twice"
    assert sorted(os.listdir(tmp_path / "new")) == sorted(done), "nothing half is left"
    assert 3000 <= heard.progress <= 4000


def test_a_file_that_kills_its_workers_fails(tmp_path, pool) -> None:
    heard = Heard()
    assert run(jobs_of(tmp_path, "killed"), work, heard, pool=pool, folder=str(tmp_path / "new")) == 2
    assert heard.outcomes[str(tmp_path / "killed")].failure.kind == "died"
    assert "2 workers died" in heard.outcomes[str(tmp_path / "killed")].failure.message
    assert os.listdir(tmp_path / "new") == []


def test_an_interruption_stops_workers_and_leaves_nothing(tmp_path, pool) -> None:
    class Impatient(Heard):
        def on_progress(self, size: int) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(jobs_of(tmp_path, "slow"), work, Impatient(), pool=pool, folder=str(tmp_path / "new"))
    assert os.listdir(tmp_path / "new") == []
    # The worker is free again.
    jobs = jobs_of(tmp_path / "after", *map(str, range(8)))
    assert run(jobs, work, Heard(), pool=pool, keep_going=True, folder=str(tmp_path / "after/new")) == 0
    assert os.listdir(tmp_path / "new") == []


def test_after_a_failure_no_further_file_is_begun(tmp_path, pool) -> None:
    heard = Heard()
    jobs = jobs_of(tmp_path, "damaged", *map(str, range(200)))
    assert run(jobs, work, heard, pool=pool, folder=str(tmp_path / "new")) == 1
    # Where one of the two workers is being started again, the first file is all that is begun.
    assert set(heard.statuses.values()) - {"done"} == {"failed", "not-run"}
    assert len(heard.statuses) == 201
    done = [name for name, status in statuses(heard).items() if status == "done"]
    assert sorted(os.listdir(tmp_path / "new")) == sorted(done)


def test_what_workers_lack_is_said(tmp_path, pool, monkeypatch) -> None:
    jobs = jobs_of(tmp_path, "one")
    with monkeypatch.context() as patch, pytest.raises(SeekWarcError, match="install seekwarc 9 on"):
        patch.setattr("seekwarc.compat.cluster.__version__", "9")
        run(jobs, work, Heard(), pool=pool)
    with pytest.raises(SeekWarcError, match="is not an address"):
        run(jobs, work, Heard(), pool=type(pool)("localhost"))
    monkeypatch.setattr("seekwarc.compat.cluster.CONNECT_TIMEOUT", 0.5)
    with pytest.raises(SourceError, match="no Dask scheduler answers"):
        run(jobs, work, Heard(), pool=type(pool)("tcp://127.0.0.1:1"))


def test_the_command_gives_the_same_as_on_one_machine(address, run_main, capsys, tmp_path) -> None:
    folder, cut = tmp_path / "in", tmp_path / "in/cut.warc.gz"
    folder.mkdir()
    for number in range(3):
        made = Foreign().record(noise(50_000, seed=number)).record(b"x" * number)
        (folder / f"{number}.warc.gz").write_bytes(made.gzip().bytes())
    cut.write_bytes(made.gzip().bytes()[:-50])

    def told(*words: object, status: int = 1) -> str:
        assert run_main(*words, "--keep-going", "--dask", address) == status
        return capsys.readouterr().out

    new = tmp_path / "new"
    assert told("convert", folder, "--to-dir", new).count("2 records") == 3
    assert told("convert", folder, "--to-dir", new).count("exists already") == 3
    assert sorted(os.listdir(new)) == [f"{number}.warc.zst" for number in range(3)]
    told("index", folder, "-o", tmp_path / "all.cdxj")
    run_main("index", folder, "-o", tmp_path / "plain.cdxj", "--keep-going")
    assert (tmp_path / "all.cdxj").read_bytes() == (tmp_path / "plain.cdxj").read_bytes()
    words = ("verify", folder, "--report", tmp_path / "report.jsonl")
    told(*words)
    assert "1 done with problems, 3 skipped" in told(*words)
    for words in (("-", "--stdin-name", "x"), (folder, "--jobs", 2)):
        assert told("index", *words, status=2) == ""
