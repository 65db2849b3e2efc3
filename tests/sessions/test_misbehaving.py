"""A client against servers that break the rules: each ends in a verdict or an error, in time."""

import asyncio
import os
import shutil
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.folders import TESTS
from support.revisions import OLD
from support.sessions.talking import client, content_of, pkg
from support.tables import case

# The program's revision outside the handshake.
NEW = "2026-07-28"
PROGRAM = TESTS / "support" / "sessions" / "misbehaving.py"
# Nobody is given up because the machine is slow, but for those whose silence is meant.
PATIENT = pkg.Options(probe_timeout=60, initialize_timeout=60, timeout=60, timeouts={})
BRIEF = {
    "silence": replace(PATIENT, probe_timeout=1),
    "hangs": replace(PATIENT, probe_timeout=1),
    "modern after all": replace(PATIENT, probe_timeout=1),
    "mute": replace(PATIENT, initialize_timeout=1),
}


class Meeting:
    """A client of both eras and a server that misbehaves."""

    def __init__(self, mode: str, folder: Path, **launching: Any) -> None:
        self.counter = folder / "starts"
        self.errors: list[str] = []
        self.options = BRIEF.get(mode, PATIENT)
        launching = {"stderr": self.errors.append, "grace": 0.2, **launching}
        self.launch = pkg.stdio_client([sys.executable, PROGRAM, mode, self.counter], **launching)

    def connect(self, *clients: Any) -> Any:
        clients = clients or (client(OLD), client(NEW))
        return pkg.connect(self.launch, *clients, options=self.options)

    @property
    def starts(self) -> int:
        return len(self.counter.read_bytes())

    async def call(self) -> Any:
        async with self.connect() as ours:
            assert ours.revision == OLD
            return await ours.call_tool("x")


EMPTY: list[object] = []


@pytest.mark.parametrize(
    "mode", ["silence", "hangs", "exit", "-32601", "-32602", "-32600", "-32000", "text", "fine"]
)
async def test_PS06_PS08_PS09_what_an_old_server_makes_of_the_probe(
    mode: str, tmp_path: Path
) -> None:
    meeting = Meeting(mode, tmp_path)
    assert (await meeting.call()).content == EMPTY
    assert meeting.starts == (2 if mode in ("exit", "silence", "hangs") else 1)


@pytest.mark.shows("S1-44")
async def test_PS09_a_server_that_ends_twice_says_how(tmp_path: Path) -> None:
    with pytest.raises(pkg.Disconnected, match="code 9") as caught:
        async with Meeting("dies", tmp_path).connect():
            pass
    assert "out of memory" in str(caught.value)


async def test_PS10_a_slow_modern_server_is_recognised_by_its_refusal(tmp_path: Path) -> None:
    async with Meeting("modern after all", tmp_path).connect() as ours:
        assert ours.revision == NEW


@pytest.mark.shows("S1-43")
async def test_HC07_silence_ends_in_time(tmp_path: Path) -> None:
    with pytest.raises(pkg.RequestTimeout, match="initialize"):
        async with Meeting("mute", tmp_path).connect():
            pass


async def test_noise_does_not_disturb_answers(tmp_path: Path) -> None:
    async with Meeting("noise", tmp_path).connect() as ours:
        for _ in range(2):
            assert content_of(await ours.call_tool("x")) == EMPTY


async def test_a_flood_is_heard_in_order_and_in_bounded_room(tmp_path: Path) -> None:
    heard: list[int] = []

    async def on_logging_message(self: Any, params: Any) -> None:
        await asyncio.sleep(0)
        heard.append(params.data)

    ours = client(OLD, on_logging_message=on_logging_message)
    async with Meeting("flood", tmp_path).connect(ours):
        await ours.call_tool("x")
    assert heard == sorted(heard)
    assert len(heard) > 10_000


async def test_answer_that_is_too_long_fails_its_call_at_once(tmp_path: Path) -> None:
    async with Meeting("huge line", tmp_path, limit=1_000_000).connect() as ours:
        for _ in range(2):
            with pytest.raises(pkg.RemoteError, match="a line of more than 1000000 bytes"):
                await ours.call_tool("x")


@pytest.mark.shows("S2-48")
async def test_an_answer_that_does_not_fit_says_where(tmp_path: Path) -> None:
    with pytest.raises(pkg.RemoteError, match="/result/content"):
        await Meeting("wrong shape", tmp_path).call()


async def test_half_a_line_and_the_end_is_the_end(tmp_path: Path) -> None:
    with pytest.raises(pkg.Disconnected, match="ended with code 0"):
        await Meeting("half a line", tmp_path).call()


def children() -> set[str]:
    """The processes that this one has started and not yet waited for, those of other tests too."""
    found = set[str]()
    for task in Path("/proc/self/task").iterdir():
        # Those of a thread that has just ended are another's now.
        with suppress(FileNotFoundError, ProcessLookupError):
            found.update((task / "children").read_text().split())
    return found


def runs(process: str) -> bool:
    """Return whether a process runs: one whose end was not noticed yet, a zombie, does not."""
    state = Path("/proc", process, "stat")
    return state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] != "Z"


async def environment(**options: Any) -> dict[str, str]:
    """Return the variables that a process gets."""
    transport = await pkg.stdio_client(["/usr/bin/env"], **options)()
    lines: list[pkg.Received] = []
    with pytest.raises(pkg.Disconnected, match="code 0"):
        while True:
            lines += await transport.receive()
    await transport.close()
    pairs = (line.decode().partition("=") for line in lines if isinstance(line, bytes))
    return {name: value for name, _, value in pairs}


class TestLaunch:
    @pytest.mark.shows("S0-37", "S1-27", "S1-28", "S1-29", "S1-30")
    async def test_S1_26_S1_30_a_stubborn_server_is_ended_step_by_step(
        self, tmp_path: Path
    ) -> None:
        meeting = Meeting("stubborn", tmp_path, grace=0.3)
        began = 0.0
        async with meeting.connect():
            began = time.monotonic()
        assert 0.6 <= time.monotonic() - began < 60

    @pytest.mark.shows("S1-26")
    async def test_a_server_that_ends_by_itself_is_not_waited_for(self, tmp_path: Path) -> None:
        began = 0.0
        async with Meeting("fine", tmp_path, grace=60).connect():
            began = time.monotonic()
        assert time.monotonic() - began < 60

    async def test_child_processes_of_server_end_with_it(self, tmp_path: Path) -> None:
        meeting = Meeting("wrapper", tmp_path)
        async with meeting.connect():
            pass
        assert not runs((tmp_path / "starts.pid").read_text())

    async def test_ended_servers_leave_nothing_behind(self, tmp_path: Path) -> None:
        before, threads = set(os.listdir("/proc/self/fd")), threading.active_count()
        of_others = children()
        for mode in ("fine", "exit"):
            await Meeting(mode, tmp_path).call()
        with pytest.raises(pkg.Disconnected):
            await Meeting("half a line", tmp_path).call()
        assert set(os.listdir("/proc/self/fd")) == before
        # Threads that wait for processes end by themselves, a moment after them.
        until = time.monotonic() + 5
        while threading.active_count() > threads and time.monotonic() < until:
            time.sleep(0.01)
        assert threading.active_count() <= threads
        assert children() <= of_others

    async def test_a_cancelled_exit_still_ends_the_process(self, tmp_path: Path) -> None:
        meeting, of_others = Meeting("stubborn", tmp_path, grace=0.2), children()
        leaving = asyncio.Event()

        async def use() -> None:
            async with meeting.connect():
                leaving.set()

        task = asyncio.create_task(use())
        await leaving.wait()
        await asyncio.sleep(0.1)
        assert children() > of_others
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        async with asyncio.timeout(30):
            # The task that ends it has a few steps more to take.
            while not children() <= of_others or len(asyncio.all_tasks()) > 1:
                await asyncio.sleep(0.01)

    def test_the_end_of_the_event_loop_ends_a_process_that_is_being_waited_for(
        self, tmp_path: Path
    ) -> None:
        meeting, of_others = Meeting("stubborn", tmp_path, grace=60), children()
        leaving: list[asyncio.Task[bool | None]] = []

        async def use() -> None:
            session = meeting.connect()
            await session.__aenter__()
            leaving.append(asyncio.create_task(session.__aexit__(None, None, None)))
            await asyncio.sleep(0.1)
            assert children() > of_others

        asyncio.run(use())
        until = time.monotonic() + 30
        while any(map(runs, children() - of_others)) and time.monotonic() < until:
            time.sleep(0.01)
        assert not any(map(runs, children() - of_others))

    async def test_a_program_that_cannot_be_started_is_named(self) -> None:
        for program in ["no-such-program", "/etc/passwd", "/"]:
            with case(program), pytest.raises(pkg.Disconnected, match=f"cannot start {program}"):
                async with pkg.connect(pkg.stdio_client([program]), client(OLD)):
                    pass

    async def test_on_windows_a_program_is_found_by_the_suffixes_of_a_shell(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def which(program: str, path: str | None) -> str | None:
            return f"{path}/npx.cmd" if program == "npx" else None

        openers: dict[str, Any] = {}
        with monkeypatch.context() as windows:
            windows.setattr(sys, "platform", "win32")
            windows.setattr(shutil, "which", which)
            for program in ("npx", "no-such-program"):
                openers[program] = pkg.stdio_client([program], inherit=(), env={"PATH": "/nowhere"})
        for program, shown in (("npx", "/nowhere/npx.cmd"), ("no-such-program", "no-such-program")):
            with case(program), pytest.raises(pkg.Disconnected, match=f"^cannot start {shown}:"):
                await openers[program]()

    def test_there_has_to_be_a_program(self) -> None:
        with pytest.raises(ValueError, match="must name a program"):
            pkg.stdio_client([])

    async def test_a_server_inherits_what_is_safe_and_gets_what_it_is_given(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SECRET_TOKEN", "hunter2")
        monkeypatch.setenv("LC_TIME", "C")
        monkeypatch.setenv("TERM", "() { evil; }")
        secret = {"SECRET_TOKEN": "hunter2"}
        usual = await environment(env={"MINE": "1"})
        assert usual["PATH"] == os.environ["PATH"]
        assert (usual["LC_TIME"], usual["MINE"]) == ("C", "1")
        assert not {"SECRET_TOKEN", "TERM"} & usual.keys()
        assert (await environment(inherit=True)).items() >= secret.items()
        assert await environment(inherit=["SECRET_TOKEN"]) == secret
        assert await environment(inherit=False) == {}

    @pytest.mark.shows("S0-34")
    async def test_standard_error_goes_to_a_callback_or_a_file(self, tmp_path: Path) -> None:
        meeting = Meeting("exit", tmp_path)
        into_file = Meeting("exit", tmp_path, stderr=tmp_path / "log")
        for case_of in (meeting, into_file):
            case_of.counter.unlink(missing_ok=True)
            await case_of.call()
        assert meeting.errors == ["what is server/discover?"]
        assert (tmp_path / "log").read_text() == "what is server/discover?\n"

    @pytest.mark.shows("S3-06")
    async def test_standard_error_passes_through(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        await Meeting("exit", tmp_path, stderr=None).call()
        assert "what is server/discover?" in capfd.readouterr().err

    async def test_a_server_runs_where_it_is_told_to(self, tmp_path: Path) -> None:
        program = "import os; os.write(2, os.getcwd().encode())"
        where: list[str] = []
        launch = pkg.stdio_client(
            [sys.executable, "-c", program], cwd=tmp_path, stderr=where.append, inherit=True
        )
        with pytest.raises(pkg.Disconnected):
            async with pkg.connect(launch, client(OLD)):
                pass
        assert where == [str(tmp_path)]

    @pytest.mark.shows("S0-29", "S0-31", "S3-03")
    async def test_a_wrapper_command_works(self, tmp_path: Path) -> None:
        command = f"{sys.executable} {PROGRAM} fine {tmp_path / 'starts'}; true"
        async with pkg.connect(pkg.stdio_client(["sh", "-c", command]), client(OLD)) as ours:
            assert content_of(await ours.call_tool("x")) == EMPTY
