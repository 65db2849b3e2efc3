"""The calls per second of two workers of `run_http`, beside one.

The load client takes a whole processor, so two workers and the client share two. The figure is
therefore the processor time of the busiest worker for a call: the time of a call if each worker and
the client had its own processor. The time of the client has its own row.
"""

import os
import socket
import subprocess
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from statistics import median
from time import process_time, sleep

from .http_load import callers, load
from .http_servers import processor_seconds
from .places import ROOT, environment, package, sdk_python
from .rows import Row
from .timing import Samples

TOPIC = "http"

_CONNECTIONS, _CALLS, _WARM_UP = 64, 10_000, 2_000
_PAUSE = 0.3
_GOAL = 1 / 1.7
_ONE, _TWO, _CLIENT = "one worker", "two workers", "client"


def rows(rounds: int) -> Iterator[Row]:
    """Compare two workers with one."""
    taken: Samples = {_ONE: [], _TWO: [], _CLIENT: []}
    for _ in range(rounds):
        for number, name in ((1, _ONE), (2, _TWO)):
            with _serve(number) as (port, workers), ExitStack() as stack:
                connections = callers(stack, port, _CONNECTIONS, sessions=False)
                load(connections, _WARM_UP)
                before, begun = [processor_seconds(pid) for pid in workers], process_time()
                load(connections, _CALLS)
                after, client = [processor_seconds(pid) for pid in workers], process_time() - begun
            busiest = max(now - then for now, then in zip(after, before, strict=True))
            taken[name].append(busiest / _CALLS)
            taken[_CLIENT].append(client / _CALLS)
    one, two, client = (median(taken[name]) for name in (_ONE, _TWO, _CLIENT))
    yield Row(TOPIC, "a call, two workers, without the client", two, _ONE, one, _GOAL, "µs")
    yield Row(TOPIC, "the client's part of a call", client, _TWO, two, None, "µs")


@contextmanager
def _serve(number: int) -> Generator[tuple[int, list[int]], None, None]:
    """Start a server with that many workers; yield its port and their process ids."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    command: list[str | Path] = [
        sdk_python(),
        "-m",
        "benchmarks.http_workers",
        str(port),
        str(number),
    ]
    seen = environment(PYTHONPATH=str(package()))
    with subprocess.Popen(command, cwd=ROOT, env=seen) as process:
        try:
            while not all(map(_serves, workers := _workers(process.pid, number))) or not workers:
                if process.poll() is not None:
                    raise RuntimeError(f"the server ended with {process.returncode}")
                sleep(0.02)
            sleep(_PAUSE)
            yield port, workers
        finally:
            process.terminate()


def _workers(pid: int, number: int) -> list[int]:
    """Return the processes that serve: the process itself, or its children."""
    if number == 1:
        return [pid]
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    # Python also starts a helper.
    started = [
        child for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
    return [int(process) for process in started] if len(started) == number else []


def _serves(pid: int) -> bool:
    """Return whether a process has an event loop, which it makes after all imports."""
    with suppress(FileNotFoundError):
        return any(
            "eventpoll" in os.readlink(descriptor)
            for descriptor in Path(f"/proc/{pid}/fd").iterdir()
        )
    return False
