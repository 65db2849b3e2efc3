"""Engine servers that tests start as processes, stop, and disturb."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias

from support.missing import skip_untested
from support.patience import PATIENCE
from support.ports import free_port
from support.programs import find_program

_POSTGRES: Final = "/usr/lib/postgresql/*/bin"
"""Folders with its programs."""


def redis_is_installed() -> bool:
    return find_program("redis-server") is not None


def postgres_is_installed() -> bool:
    return find_program("postgres", places=_POSTGRES) is not None


def program(name: str, places: str = "") -> str:
    """Return the path of a program; skip the test if it is missing."""
    needed = "workers that share it as an engine"
    return find_program(name, places=places) or skip_untested(name, needed)


def ending_with_us(*command: str) -> list[str]:
    """Return a command whose process ends with this one, also if this one is killed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", *command] if setpriv else [*command]


def wait_until_listening(port: int, process: "subprocess.Popen[bytes]") -> None:
    """Wait until a port is listened on; fail if the process has ended."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, f"{process.args!r} ended with {process.returncode}"
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.01)
    raise AssertionError(f"port {port} is still closed after {PATIENCE} seconds")


@dataclass
class _ServerProcess:
    """A process of an engine in its own folder; each method returns when it has taken effect."""

    folder: Path
    port: int = field(default_factory=free_port)
    _process: "subprocess.Popen[bytes] | None" = None

    def _launch(self, command: Sequence[str]) -> None:
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)
        wait_until_listening(self.port, self._process)

    def _end(self, number: int) -> None:
        process, self._process = self._process, None
        if process is not None:
            self._signal(signal.SIGCONT, process)
            process.send_signal(number)
            process.wait(PATIENCE)

    def freeze(self) -> None:
        """Make it silent, with its connections open."""
        self._signal(signal.SIGSTOP, self._process)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT, self._process)

    def _signal(self, number: int, process: "subprocess.Popen[bytes] | None") -> None:
        assert process is not None
        # Each connection to PostgreSQL has a process that outlives the first one.
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("ascii")
        for pid in [process.pid, *map(int, children.split())]:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


@dataclass
class RedisServer(_ServerProcess):
    """A redis-server without persistence until it is stopped."""

    options: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        if self._process is not None:
            return
        options = [*("--port", str(self.port)), *("--bind", "127.0.0.1"), *("--save", "")]
        server = ending_with_us(program("redis-server"), *options, *self.options)
        self._launch(server)
        while b"LOADING" in self._raw("PING"):
            time.sleep(0.01)

    def stop(self, *, keep: bool = True) -> None:
        """Stop it; without `keep` it loses all data."""
        if keep and self._process is not None:
            self.command("SAVE")
        self.crash()
        if not keep:
            for kept in self.folder.glob("*.rdb"):
                kept.unlink()

    def crash(self) -> None:
        """Kill it before it can write anything."""
        self._end(signal.SIGKILL)

    def disconnect(self) -> None:
        self.command("CLIENT", "KILL", "SKIPME", "yes")

    def command(self, *arguments: str | int) -> Any:
        from redis import Redis

        client: Any = Redis(port=self.port)
        with client:
            return client.execute_command(*arguments)

    def _raw(self, line: str) -> bytes:
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall(f"{line}\r\n".encode())
            return connection.recv(1000)


@contextmanager
def redis_running(*options: str) -> Generator[RedisServer, None, None]:
    """Run a server, by default one that several tests share by namespaces."""
    with TemporaryDirectory(prefix="redis-") as folder:
        server = RedisServer(Path(folder), options=options)
        server.start()
        try:
            yield server
        finally:
            server.stop(keep=False)


@dataclass
class PostgresServer(_ServerProcess):
    """A PostgreSQL server without fsync."""

    @property
    def url(self) -> str:
        return f"postgresql://postgres:secret@127.0.0.1:{self.port}/postgres"

    def create(self) -> None:
        """Create a new database in place of the earlier one."""
        data, new = self.folder / "data", self.folder / "new"
        shutil.rmtree(data, ignore_errors=True)
        if not new.exists():
            if os.getuid() == 0:
                # PostgreSQL refuses to run as root.
                shutil.chown(self.folder, "postgres", "postgres")
            options = ["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8"]
            options += ["--locale=C", "--wal-segsize=1", f"--pgdata={new}"]
            command = [*self._as_user("initdb"), *options]
            subprocess.run(command, cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        # Ten times faster.
        subprocess.run(["cp", "-a", new, data], check=True)

    def start(self) -> None:
        if self._process is not None:
            return
        settings = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "off",
            "max_connections": 200,
        }
        command = [*self._as_user("postgres"), "-D", str(self.folder / "data")]
        command += [f"--{name}={value}" for name, value in settings.items()]
        self._launch(command)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with suppress(Exception):
                self.run("select 1")
                return
            time.sleep(0.02)
        raise AssertionError(f"PostgreSQL did not begin within {PATIENCE} seconds")

    def stop(self, *, keep: bool = True) -> None:
        self._end(signal.SIGINT)
        if not keep:
            self.create()

    def crash(self) -> None:
        """Kill it before it can write anything."""
        self._end(signal.SIGQUIT)

    def disconnect(self) -> None:
        others = "from pg_stat_activity where backend_type = 'client backend'"
        others += " and pid <> pg_backend_pid()"
        for pid, _ in self.run(f"select pid, pg_terminate_backend(pid) {others}"):
            while self.run(f"select {others} and pid = {pid}"):
                time.sleep(0.005)

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(self.url, autocommit=True, connect_timeout=10) as connection:
            cursor = connection.execute(statement.encode())
            while cursor.nextset():
                pass
            return [] if cursor.description is None else cursor.fetchall()

    def _as_user(self, name: str) -> list[str]:
        command = ending_with_us(program(name, _POSTGRES))
        if os.getuid() == 0:
            user = ["--reuid=postgres", "--regid=postgres", "--clear-groups"]
            command[1:1] = user
        return command


EngineServer: TypeAlias = PostgresServer | RedisServer


@contextmanager
def postgres_running() -> Generator[PostgresServer, None, None]:
    """Run a server, by default one that several tests share by schemas."""
    with TemporaryDirectory(prefix="postgres-") as folder:
        server = PostgresServer(Path(folder))
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop()
