"""Traces one call through a server: the modules of a package that it enters, and how often.

`python -m benchmarks.walk_worker CASE TRACES` runs a server of the benchmarks in this process,
calls it from another thread, and prints the counts as a JSON object. The server has the main thread
and the standard streams, as in its own program.
"""

import json
import os
import sys
import threading
from collections.abc import Callable
from itertools import count
from runpy import run_module
from statistics import median_low
from threading import Thread
from time import sleep
from traceback import print_exc
from typing import Any, Final, NamedTuple, TypeAlias

from .http_load import Caller
from .places import REVISION
from .serve_load import Server
from .tracing import Trace

# Work after the answer belongs to the call, too.
_PAUSE: Final = 0.05
_WARM_UP: Final = 5
_OURS: Final = ("mcp_revisions._runtime",)
_SDK: Final = ("mcp", "mcp_types")

Call: TypeAlias = Callable[[], object]
Streams: TypeAlias = tuple[int, int]
"""The descriptors that lead to the server's standard input and come from its standard output."""


class Case(NamedTuple):
    """A program, the packages whose frames count, and a way to repeat one call."""

    program: list[str]
    packages: tuple[str, ...]
    calling: Callable[[Streams], Call]


def _over_stdio(streams: Streams) -> Call:
    server = Server(streams[0], streams[1], os.getpid())
    server.hello()
    return server.call


def _over_http(streams: Streams, *, sessions: bool) -> Call:
    caller = Caller(int(os.read(streams[1], 100)))
    caller.prepare(caller.open_session() if sessions else None)

    def call() -> None:
        answer = caller.answer()
        if answer.status != 200 or b'"result"' not in answer.body:
            raise RuntimeError(f"a call failed: {answer}")

    return call


def _in_session(streams: Streams) -> Call:
    return _over_http(streams, sessions=True)


def _without_session(streams: Streams) -> Call:
    return _over_http(streams, sessions=False)


def _hover(streams: Streams) -> Call:
    ids = count()
    place = {"textDocument": {"uri": "file:///a"}, "position": {"line": 0, "character": 0}}

    def ask(method: str, params: Any) -> None:
        message = {"jsonrpc": "2.0", "id": next(ids), "method": method, "params": params}
        body = json.dumps(message).encode()
        os.write(streams[0], b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        answer = os.read(streams[1], 1 << 16)
        if b'"result"' not in answer:
            raise RuntimeError(f"{method} failed: {answer!r}")

    ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    return lambda: ask("textDocument/hover", place)


CASES: Final = {
    "stdio": Case(["serve_ours"], _OURS, _over_stdio),
    "session": Case(["http_ours", REVISION, "1"], _OURS, _in_session),
    "translated": Case(["http_ours", REVISION, "1", "--all"], _OURS, _without_session),
    "pygls": Case(["serve_pygls"], ("pygls",), _hover),
    "mcp stdio": Case(["serve_sdk"], _SDK, _over_stdio),
    "mcp session": Case(["http_sdk"], _SDK, _in_session),
    "mcp stateless": Case(["http_sdk"], _SDK, _without_session),
}


def _traces(call: Call, trace: Trace, number: int) -> dict[str, int]:
    for _ in range(_WARM_UP):
        call()
    sleep(_PAUSE)
    found: list[dict[str, int]] = []
    for _ in range(number):
        with trace.recording():
            call()
            sleep(_PAUSE)
        found.append(trace.figures())
    return {name: median_low(figures[name] for figures in found) for name in found[0]}


def _standard_streams() -> tuple[Streams, int]:
    """Put pipes in place of the standard streams; yield also the former standard output."""
    printed = os.dup(1)
    from_us, to_server = os.pipe()
    from_server, to_us = os.pipe()
    for ours, standard in ((from_us, 0), (to_us, 1)):
        os.dup2(ours, standard)
        os.close(ours)
    return (to_server, from_server), printed


def main(case: Case, number: int) -> None:
    """Run the server until the calling thread ends the process."""
    trace = Trace(case.packages)
    streams, printed = _standard_streams()

    def ask() -> None:
        failed = True
        try:
            found = _traces(case.calling(streams), trace, number)
            os.write(printed, json.dumps(found).encode())
            failed = False
        except Exception:
            print_exc()
        finally:
            sys.stderr.flush()
            # The server would go on for ever.
            os._exit(failed)

    Thread(target=ask, daemon=True).start()
    # Also in threads that the server starts, without the calling one.
    threading.setprofile(trace)
    sys.setprofile(trace)
    sys.argv = case.program
    run_module(f"benchmarks.{case.program[0]}", run_name="__main__")


if __name__ == "__main__":
    main(CASES[sys.argv[1]], int(sys.argv[2]))
