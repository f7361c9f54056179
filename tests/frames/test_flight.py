"""Work that several threads want is done once; a failure is left to each of them."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from seekwarc.frames.flight import Flights


def test_the_first_does_it_and_the_others_get_it() -> None:
    flights = Flights()
    assert flights.find(5) is None
    assert flights.begin(5) is None
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(flights.begin(5).wait) for _ in range(8)]
        assert not any(one.done() for one in waiting)
        flights.end(5, b"content")
        assert [one.result(timeout=5) for one in waiting] == [b"content"] * 8
    assert flights.find(5) is None
    assert flights.begin(5) is None, "what is over can begin anew"


def test_flights_do_not_wait_for_each_other() -> None:
    flights = Flights()
    assert flights.begin(1) is flights.begin(2) is None
    two = flights.find(2)
    flights.end(1, b"one")
    flights.end(2, b"two")
    assert two.wait() == two.wait() == b"two"


def test_a_failure_is_none() -> None:
    flights = Flights()
    flights.begin(1)
    flight = flights.begin(1)
    flights.end(1, None)
    assert flight.wait() is None


def test_of_many_that_begin_at_once_one_does_it() -> None:
    flights = Flights()
    barrier = threading.Barrier(16)
    done = []

    def work() -> bytes | None:
        barrier.wait()
        flight = flights.begin(7)
        if flight is not None:
            return flight.wait()
        done.append(threading.current_thread())
        time.sleep(0.05)
        flights.end(7, b"content")
        return b"content"

    with ThreadPoolExecutor(16) as pool:
        assert {one.result() for one in [pool.submit(work) for _ in range(16)]} == {b"content"}
    assert len(done) == 1
