"""A server as a process by `run_http`, against clients that want it to hang."""

import asyncio
import json
import signal
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from support.folders import environment
from support.http.fire import ask, call, http, modern_call, wire
from support.patience import PATIENCE
from support.ports import free_port
from support.sessions.talking import INITIALIZED, hello


class Process:
    """A process that serves."""

    def __init__(self, port: int, process: asyncio.subprocess.Process) -> None:
        self.port = port
        self.process = process
        # Established, or closed by the client alone.
        self._kept = {(f"0100007F:{port:04X}", state) for state in ("01", "08")}

    async def is_fine(self) -> None:
        """A normal call is answered in both eras."""
        first = await ask(self.port, http(hello()))
        mine = {"mcp-session-id": first.field("mcp-session-id")}
        assert (await ask(self.port, http(INITIALIZED, **mine))).status == 202
        assert (await ask(self.port, http(call("echo"), **mine))).status == 200
        assert (await ask(self.port, modern_call("echo"))).status == 200
        assert (await ask(self.port, http(b"", "DELETE", **mine))).status == 204

    @property
    def connections(self) -> int:
        """Return the number of connections that it has not closed."""
        lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
        ends = [(words[1], words[3]) for words in (line.split() for line in lines)]
        return sum((end, state) in self._kept for end, state in ends)

    async def has(self, number: int) -> None:
        """Wait until there are that many connections."""
        while self.connections != number:
            await asyncio.sleep(0.005)


@asynccontextmanager
async def run_server(**options: Any) -> AsyncGenerator[Process, None]:
    """Serve until the end of the block; require a clean end without reported failures."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "support.http.fire", str(port), json.dumps(options)),
        env=environment(),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        while True:
            try:
                await ask(port, http(b""))
                break
            except ConnectionError:
                assert process.returncode is None
                await asyncio.sleep(0.02)
        yield Process(port, process)
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            _, said = await process.communicate()
        assert b"Traceback" not in said and b"ERROR" not in said, said.decode()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_heads_that_do_not_come_are_waited_for_no_longer_than_said() -> None:
    async with run_server(head_timeout=2) as site:
        async with wire(site.port) as silent, wire(site.port) as slow, wire(site.port) as second:
            await slow.send(b"POST /mcp HTTP/1.1\r\nhost: local")
            await second.send(http(b""))
            assert (await second.answer()).status == 400
            await second.send(b"POST /mcp HTTP/1.1\r\nx-a: ")
            assert (await slow.answer()).status == 408
            assert (await second.answer()).status == 408
            assert await slow.is_closed()
            assert await second.is_closed()
            assert await silent.is_closed()
        await site.is_fine()


async def test_many_who_send_a_head_byte_by_byte_do_not_stay() -> None:
    async def drip(port: int) -> int:
        # Not through a transport of asyncio: after the server has closed, writes are answered by a
        # reset, and a transport then drops unread data.
        loop = asyncio.get_running_loop()
        with socket.socket() as one:
            one.setblocking(False)
            await loop.sock_connect(one, ("127.0.0.1", port))
            await loop.sock_sendall(one, b"POST /mcp HTTP/1.1\r\nx-a: ")
            answer = asyncio.create_task(loop.sock_recv(one, 1000))
            while not answer.done():
                with suppress(ConnectionError):
                    await loop.sock_sendall(one, b"a")
                await asyncio.wait([answer], timeout=0.05)
            return int(answer.result().split(b" ", 2)[1])

    async with run_server(head_timeout=0.5) as site:
        statuses = await asyncio.gather(*[drip(site.port) for _ in range(300)])
        assert set(statuses) == {408}
        await site.has(0)
        await site.is_fine()


async def test_a_head_without_end_is_refused() -> None:
    async with run_server(max_headers=10_000) as site:
        for piece in (b"a" * 1000, b"x-a: b\r\n" * 100):
            async with wire(site.port) as one:
                await one.send(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-b: ")
                for _ in range(15):
                    await one.send(piece)
                # Data beyond the limit causes a reset, which may be faster.
                with suppress(ConnectionError, asyncio.IncompleteReadError):
                    assert (await one.answer()).status in (400, 431)
                assert await one.is_closed()
        await site.is_fine()


async def test_who_does_not_read_loses_the_connection() -> None:
    async with run_server(send_timeout=0.3, max_requests=2, head_timeout=300) as site:
        flood, big = {"times": 100, "size": 200_000}, {"size": 20_000_000}
        async with wire(site.port) as one, wire(site.port) as two, wire(site.port) as three:
            for stuck in (one, two, three):
                stuck.read(False)
            await site.has(3)
            await one.send(modern_call("flood", **flood))
            await two.send(modern_call("big", **big) + modern_call("echo"))
            # The two come, and are cut off.
            await site.has(1)
            await site.is_fine()


async def test_a_server_stops_though_a_client_does_not_read() -> None:
    async with run_server(send_timeout=60) as site, wire(site.port) as one:
        one.read(False)
        await one.send(modern_call("flood", times=100, size=200_000))
        await asyncio.sleep(0.2)
        site.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            await site.process.wait()


async def test_a_body_that_was_refused_is_not_read_without_end() -> None:
    async with run_server(max_body=1000, head_timeout=2) as site:
        head = http(b"", **{"content-length": None, "transfer-encoding": "chunked"})
        async with wire(site.port) as one:
            await one.send(head + b"400\r\n" + b" " * 1024 + b"\r\n" * 2)
            assert (await one.answer()).status in (400, 413)
            async with asyncio.timeout(PATIENCE):
                while not one.writer.transport.is_closing():
                    await one.send(b"400\r\n" + b" " * 1024 + b"\r\n")
                    await asyncio.sleep(0.01)
        await site.is_fine()


async def test_to_leave_with_requests_queued_behind_a_slow_one_is_no_failure() -> None:
    async with run_server(max_requests=3) as site:
        for _ in range(10):
            async with wire(site.port) as one:
                await one.send(modern_call("wait", 1) + modern_call("echo", 2) * 3)
                await asyncio.sleep(0.02)
                one.vanish()
            await site.has(0)
        # The slow ones were cancelled: none of them takes a place any more.
        await site.is_fine()
