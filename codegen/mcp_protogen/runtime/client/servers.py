"""Connecting to a command, a file, a URL, or a server in this process."""

import os
import re
import shlex
import sys
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeVar, Unpack, cast, overload

from ..core.options import USUAL, Options
from ..rules.handlers import Handlers
from ..transports.base import Opener, Program, ServerLike
from .base import ClientBase
from .connect import C, Connecting, ConnectOptions, Connector, Newest, RevisionModule

C1 = TypeVar("C1", bound=ClientBase)
C2 = TypeVar("C2", bound=ClientBase)
C3 = TypeVar("C3", bound=ClientBase)

_URL: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")


class Connect(Connector[Newest]):
    """Connects to a server of any kind; `connect` of a package."""

    @overload
    def __call__(
        self, server: ServerLike, /, **settings: Unpack[ConnectOptions]
    ) -> Connecting[Newest]: ...
    @overload
    def __call__(
        self, server: ServerLike, client: C, /, **settings: Unpack[ConnectOptions]
    ) -> Connecting[C]: ...
    @overload
    def __call__(
        self, server: ServerLike, /, *, as_: RevisionModule[C], **settings: Unpack[ConnectOptions]
    ) -> Connecting[C]: ...
    @overload
    def __call__(
        self, server: ServerLike, one: C1, two: C2, /, **settings: Unpack[ConnectOptions]
    ) -> Connecting[C1 | C2]: ...
    @overload
    def __call__(
        self, server: ServerLike, one: C1, two: C2, three: C3, /, **settings: Unpack[ConnectOptions]
    ) -> Connecting[C1 | C2 | C3]: ...
    @overload
    def __call__(
        self, server: ServerLike, /, *clients: ClientBase, **settings: Unpack[ConnectOptions]
    ) -> Connecting[ClientBase]: ...
    def __call__(
        self,
        server: ServerLike,
        /,
        *clients: ClientBase,
        as_: RevisionModule[ClientBase] | None = None,
        **settings: Unpack[ConnectOptions],
    ) -> Connecting[ClientBase]:
        """Connect to `server`, with the client whose revision is agreed on.

        The default is the plain client of the package's newest revision, speaking all revisions of
        the package; `as_`, the module of a revision, selects that of another one. `server` is a
        command line or a list (a server as a process; a Python file runs with this Python), a URL,
        a server or its class (in memory), or an `Opener`, which may have settings of its own. Only
        the clients' revisions are agreed to, or `revisions` if given. A revision without a client
        is translated for the client of the next newer one, or of the newest; `options.on_loss` gets
        the losses. `negotiated` is the `client.negotiated` of an earlier connection to the same
        server: it spares the probe, and is dropped if it proves wrong. Raise `NegotiationError`
        without a common revision, `RemoteError` or `McpError` if the server breaks off the
        handshake, `RequestTimeout` if it does not answer, `Disconnected` if it cannot be reached,
        `ValueError` and `TypeError` for wrong arguments, and `ImportError` if the package lacks the
        part for such a server. On leaving, calls without an answer raise `Disconnected`, and the
        transport is closed.
        """
        opener = self.opener(server, settings.get("options", USUAL))
        return self.connection_through(opener, clients, as_, **settings)

    def opener(self, server: ServerLike, options: Options = USUAL) -> Opener:
        """Return an opener of connections to `server`; see `connect` for errors."""
        value: Any = server
        cls = server if isinstance(server, type) else type(server)
        if issubclass(cls, ClientBase):
            raise TypeError("the server comes first, then the client: connect(server, client)")
        if issubclass(cls, Handlers):
            value = self.package.in_memory(server, options=options)
        if isinstance(server, str) and _URL.match(server):
            return self.make_opener("url", None, server)
        if isinstance(value, (str, PathLike, Sequence)):
            return self.make_opener("program", None, program_words(cast(Program, value)))
        if not callable(value):
            raise TypeError(f"{value!r:.80} is not a command, file, URL, server or opener")
        return cast(Opener, value)


def program_words(command: Program) -> list[str]:
    """Return the program and its arguments; raise `FileNotFoundError` and `ValueError`."""
    if isinstance(command, str) and not Path(command).is_file():
        program = _words(command)
    elif isinstance(command, (str, PathLike)):
        program = [os.fspath(command)]
    else:
        program = [os.fspath(part) for part in command]
    first = program[0] if program else ""
    if first.endswith(".json"):
        raise ValueError(f"{first} is a configuration, not a program: use connect_config")
    if first.endswith(".py"):
        if not Path(first).is_file():
            raise FileNotFoundError(f"the file {first} does not exist in {Path.cwd()}")
        if hasattr(sys, "frozen") or "__compiled__" in globals():
            # It would start itself, again and again.
            why = "this program in one file has no Python for"
            raise ValueError(f'{why} {first}: name one, connect(["python", {first!r}])')
        program.insert(0, sys.executable)
    return program


def _words(line: str) -> list[str]:
    posix = sys.platform != "win32"
    try:
        words = shlex.split(line, posix=posix)
    except ValueError as error:
        raise ValueError(f"{line!r:.80} is not a valid command line: {error}") from None
    # On Windows a backslash separates folders, and quotes stay around a word.
    return words if posix else [word.strip('"') for word in words]
