"""The cost to start a task and to ask for its status, beside fastmcp, on each store.

Both keep tasks in the memory of the process, their default, or in Redis. The same neutral client
calls them alternately, over HTTP, in 2026-07-28.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from time import perf_counter
from typing import Any, Final, TypeAlias

from .http_load import Caller, load
from .http_servers import Servers
from .places import FASTMCP_TASKS, sdk_python
from .rows import Row
from .share_engines import engines
from .timing import interleave_loads

TOPIC: Final = "tasks"
ROUNDS: Final = 5

Load: TypeAlias = Callable[[], float]
"""Makes many calls; gives the seconds of one."""

_OURS, _FASTMCP = "ours", "fastmcp-tasks 4.1"
_GOAL: Final = 0.5

_STARTS, _ENDS, _POLLS, _CONNECTIONS = 50, 10, 1_000, 16
_LONG: Final = 3600.0


def rows(rounds: int) -> Iterator[Row]:
    """Compare servers on each store of this machine."""
    with ExitStack() as stack:
        stores: dict[str, list[str | Path]] = {"memory": []}
        stores |= {name: [engine.url] for name, engine in engines(stack, ["Redis"]).items()}
        for store, arguments in stores.items():
            with ExitStack() as serving:
                yield from _compare(store, _ports(serving, arguments), rounds)


def _ports(stack: ExitStack, arguments: Sequence[str | Path]) -> dict[str, int]:
    """The port of each server, by its label."""
    servers = Servers(stack)
    lines: dict[str, list[str | Path]] = {
        _OURS: [sys.executable, "-m", "benchmarks.task_ours"],
        _FASTMCP: [sdk_python(FASTMCP_TASKS), "-m", "benchmarks.task_fastmcp"],
    }
    return {label: servers.of([*line, *arguments]).port for label, line in lines.items()}


def _compare(store: str, ports: Mapping[str, int], rounds: int) -> Iterator[Row]:
    for what, loaded in _LOADS.items():
        with ExitStack() as stack:
            loads = {name: loaded(stack, port) for name, port in ports.items()}
            each = interleave_loads(loads, rounds)
        yield Row(TOPIC, f"{store}, {what}", each[_OURS], _FASTMCP, each[_FASTMCP], _GOAL, "µs")


def _caller(stack: ExitStack, port: int) -> Caller:
    return stack.enter_context(closing(Caller(port)))


def _starts(stack: ExitStack, port: int) -> Load:
    """Return a load that starts tasks that end at once, and asks about each."""
    caller = _caller(stack, port)

    def starts() -> float:
        each = _each(_STARTS, lambda: _start_task(caller, 0.0))
        # Running tasks would disturb the server that is called next.
        _end_task(caller)
        return each

    return starts


def _ends(stack: ExitStack, port: int) -> Load:
    """Return a load that starts such tasks, and asks without a pause until each has ended."""
    caller = _caller(stack, port)
    return lambda: _each(_ENDS, lambda: _end_task(caller))


def _polls(stack: ExitStack, port: int) -> Load:
    """Return a load that asks about running tasks, one on each connection."""
    callers = [_caller(stack, port) for _ in range(_CONNECTIONS)]
    for caller in callers:
        _start_task(caller, _LONG)
    load(callers, _POLLS)
    return lambda: load(callers, _POLLS).each


_LOADS: Final[Mapping[str, Callable[[ExitStack, int], Load]]] = {
    "a task started, and its first status": _starts,
    "a task from its start to its end": _ends,
    f"a poll, {_CONNECTIONS} at a time": _polls,
}


def _each(number: int, one: Callable[[], object]) -> float:
    begun = perf_counter()
    for _ in range(number):
        one()
    return (perf_counter() - begun) / number


def _start_task(caller: Caller, seconds: float) -> dict[str, Any]:
    """Start a task that works that long, and return its first status."""
    caller.prepare_start(seconds)
    caller.prepare_poll(_result(caller)["taskId"])
    return _result(caller)


def _end_task(caller: Caller) -> None:
    task = _start_task(caller, 0.0)
    while task["status"] == "working":
        task = _result(caller)
    if task["status"] != "completed":
        raise RuntimeError(f"a task did not complete: {task}")


def _result(caller: Caller) -> dict[str, Any]:
    answer = json.loads(caller.answer().body)
    if "result" not in answer:
        raise RuntimeError(f"a call failed: {answer}")
    result: dict[str, Any] = answer["result"]
    return result
