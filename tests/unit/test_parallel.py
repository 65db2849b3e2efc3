"""Items that another process makes are the same as those made here."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from mcp_protogen.instep.vectors import parallel
from mcp_protogen.instep.vectors.parallel import prefetch


@pytest.fixture(params=[1, 2])
def processors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many processors there seem to be."""
    number: int = request.param
    monkeypatch.setattr(parallel, "processors", lambda: number)
    return number


def number_items(amount: int) -> Iterator[tuple[int, int]]:
    return ((number, os.getpid()) for number in range(amount))


def test_a_program_with_threads_is_not_forked() -> None:
    code = """
import os
from threading import Event, Thread
from mcp_protogen.instep.vectors.parallel import processors

os.sched_getaffinity = lambda _: {0, 1, 2}
alone, done = processors(), Event()
Thread(target=done.wait).start()
print(alone, processors())
done.set()
"""
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["3", "1"]


def test_items_come_in_their_order(processors: int) -> None:
    with prefetch(number_items(9)) as items:
        numbers, makers = zip(*items, strict=True)
    assert numbers == (*range(9),)
    (maker,) = {*makers}
    assert (maker == os.getpid()) is (processors == 1)


def test_items_may_be_larger_than_a_pipe(processors: int) -> None:
    with prefetch(bytes(3 << 20) for _ in range(2)) as items:
        assert [len(item) for item in items] == [3 << 20] * 2


def test_a_failure_ends_the_items(processors: int) -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise LookupError("gone")

    with prefetch(failing()) as items:
        assert next(items) == 1
        with pytest.raises(LookupError, match="gone"):
            next(items)


def test_a_process_that_is_killed_is_named_as_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def kill_maker() -> Iterator[int]:
        yield 1
        os.kill(os.getpid(), signal.SIGKILL)
        yield 2

    monkeypatch.setattr(parallel, "processors", lambda: 2)
    with prefetch(kill_maker()) as items:
        assert next(items) == 1
        with pytest.raises(ChildProcessError, match="was killed"):
            next(items)


def test_maker_process_stops_with_its_reader(processors: int) -> None:
    def endless() -> Iterator[int]:
        while True:
            yield os.getpid()

    with prefetch(endless()) as items:
        maker = next(items)
    if maker != os.getpid():
        with pytest.raises(ProcessLookupError):
            os.kill(maker, 0)
