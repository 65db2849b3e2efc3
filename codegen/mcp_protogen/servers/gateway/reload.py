"""Reload: the file of a gateway is read again while it serves."""

import os
import signal
from asyncio import get_running_loop
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from logging import WARNING, getLogger
from pathlib import Path
from typing import Any, Final, TypeAlias

from mcp_protogen.base.problems import Problem, ProblemError, raise_errors
from mcp_protogen.runtime.core.tasks import Tasks
from mcp_protogen.servers.bridge.http_side import HttpSide
from mcp_protogen.servers.gateway.access.authentication import token_problems
from mcp_protogen.servers.gateway.config import check_users, read_settings
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.settings.settings import GatewaySettings
from mcp_protogen.servers.gateway.settings.sharing import sharing_problems

_log: Final = getLogger("mcp_protogen.gateway")

# Windows has none, and other threads cannot handle signals.
_SIGNAL: Final[int | None] = getattr(signal, "SIGHUP", None)
_NO_SIGNALS: Final = (NotImplementedError, RuntimeError, ValueError)

_LOOKING: Final = 5000
"""Milliseconds after which files are looked at without an event: not all file systems have any."""

_Stamp: TypeAlias = tuple[int, int, int] | None
"""The time, size and number of a file; None without one."""


class GatewayFile:
    """The file of a gateway, with the files that it names; `settings` are those read last."""

    def __init__(self, file: Path, side: HttpSide | None, telemetry: bool) -> None:
        self._file, self._side = file, side
        self._stamps: dict[Path, _Stamp] = {}
        self.settings = replace(self._read(), telemetry=telemetry)
        self._auth: Final = self.settings.auth

    def read(self) -> None:
        """Read all again; raise `ProblemError` with all problems, and keep the settings then."""
        settings, running = self._read(), self.settings
        # The tokens that clients need stay the same until a restart.
        check_users(replace(settings, auth=self._auth), self._side)
        # The log may still have secrets of servers that leave.
        secrets = {**running.secrets, **settings.secrets}
        longest_first = dict(sorted(secrets.items(), key=lambda pair: -len(pair[0])))
        self.settings = replace(settings, telemetry=running.telemetry, secrets=longest_first)

    def _read(self) -> GatewaySettings:
        before, self._stamps = self._stamps, {}
        try:
            settings = read_settings(self._file, self._side, self._note)
            given = settings, self._side
            raise_errors([*sharing_problems(*given), *token_problems(*given)])
            return settings
        except ProblemError:
            # It may not have come to all of its files.
            self._stamps = before | self._stamps
            raise

    def hide(self, text: str) -> str:
        """Return a text with variables in place of their values, also of earlier ones."""
        return self.settings.hide(text)

    @property
    def folders(self) -> frozenset[Path]:
        """The folders of the files that exist."""
        return frozenset(file.parent for file in self._stamps if file.parent.is_dir())

    @property
    def has_changed(self) -> bool:
        """Return whether a file differs from the one that was read."""
        return any(_stamp_of(file) != stamp for file, stamp in self._stamps.items())

    def _note(self, file: Path) -> None:
        self._stamps[file] = _stamp_of(file)


def _stamp_of(file: Path) -> _Stamp:
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class Reloading:
    """The reloads of a gateway: by SIGHUP and, if it watches, when a file changes."""

    def __init__(self, gateway: Gateway, file: GatewayFile, watches: bool) -> None:
        self._gateway, self._file = gateway, file
        self._watch_files = _load_watcher() if watches else None

    def reload(self) -> None:
        """Read the file, and apply it unless it has problems."""
        try:
            self._file.read()
        except ProblemError as error:
            self._gateway.refuse(error.problems)
        else:
            self._gateway.apply(self._file.settings)

    @asynccontextmanager
    async def keep_up(self) -> AsyncGenerator[None, None]:
        """Reload whenever there is a reason to; a lifespan."""
        loop, tasks = get_running_loop(), Tasks()
        if _SIGNAL is not None:
            with suppress(*_NO_SIGNALS):
                loop.add_signal_handler(_SIGNAL, self.reload)
        if self._watch_files is not None:
            tasks.start(self._watch(self._watch_files))
        try:
            yield
        finally:
            await tasks.cancel()
            if _SIGNAL is not None:
                with suppress(*_NO_SIGNALS):
                    loop.remove_signal_handler(_SIGNAL)

    async def _watch(self, watch_files: Callable[..., Any]) -> None:
        options = {"recursive": False, "watch_filter": None, "yield_on_timeout": True}
        while folders := self._file.folders:
            # A file may be replaced by another one, also through links: only folders tell.
            async for _ in watch_files(*folders, rust_timeout=_LOOKING, **options):
                if self._file.has_changed:
                    self.reload()
                if self._file.folders != folders:
                    break
        _log.error("%s is no longer watched: its folder is gone", self._gateway.settings.file)


def _load_watcher() -> Callable[..., Any]:
    try:
        import watchfiles
    except ImportError as error:
        hint = "install mcp-gen with its extra watch, or leave out --watch"
        raise ProblemError(Problem("missing-package", str(error), hint=hint)) from error
    # It would tell of each line that is written to a log beside the file, also of its own.
    getLogger("watchfiles").setLevel(WARNING)
    library: Any = watchfiles
    watch_files: Callable[..., Any] = library.awatch
    return watch_files
