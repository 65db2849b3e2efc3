"""The server to inspect, as a program or a URL: sessions need more than an open connection."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.connecting.server_target import ServerTarget
from mcp_protogen.runtime.client.config import ConnectConfig
from mcp_protogen.runtime.client.targets import program_words
from mcp_protogen.runtime.transports.base import Opener, Transport


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server to inspect: the words of a program, or a URL."""

    words: tuple[str, ...] = ()
    url: str = ""
    cwd: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


def server_of(target: ServerTarget) -> Server:
    """Return the server that a user names; raise `ProblemError` (`no-server`) if it is none."""
    try:
        if target.config is not None:
            return _configured(target.config, target.name)
        if target.is_url:
            return Server(url=target.name, headers=target.headers)
        return Server(words=tuple(program_words(target.name)), cwd=target.cwd, env=target.env)
    except (OSError, TypeError, ValueError) as error:
        hint = "give a URL, a command line as one word, a file of Python, or a name in --config"
        raise ProblemError(Problem("no-server", str(error), target.name, hint=hint)) from error


def _configured(file: Path, name: str) -> Server:
    described = _Described(__name__)
    described.opener(file, name)
    return described.server


class _Described(ConnectConfig[Any, Any, Any]):
    """What a configuration says of a server, which is not connected to."""

    server = Server()

    def part(self, name: str, /, *arguments: Any, **options: Any) -> Opener:
        """Take note of what would be opened."""
        (what,) = arguments
        if name == "open_http":
            self.server = Server(url=what, headers=options["headers"])
        else:
            folder = options["cwd"] and Path(options["cwd"])
            self.server = Server(words=tuple(what), cwd=folder, env=options["env"])

        async def nothing() -> Transport:
            raise NotImplementedError("this server is only described")

        return nothing
