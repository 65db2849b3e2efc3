"""The server to inspect, as a program or a URL."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_protogen.runtime.client.config import ConnectConfig
from mcp_protogen.runtime.client.servers import program_words
from mcp_protogen.runtime.http.client.authorization import Authorizer, HttpAuthorization
from mcp_protogen.runtime.http.client.connect import open_http
from mcp_protogen.runtime.transports.base import Opener, Transport
from mcp_protogen.servers.connect.named_server import NamedServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server to inspect: the words of a program, or a URL."""

    words: tuple[str, ...] = ()
    url: str = ""
    cwd: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    inherit: bool = False
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    authorizer: Authorizer | None = field(default=None, repr=False)


def server_of(server: NamedServer) -> Server:
    """Return the server that a user names; raise `ProblemError` as `NamedServer.opener` does."""
    with server.convert_errors():
        if server.config is not None:
            described = _ServerReader(__name__)
            described.opener(server.config, server.name, auth=server.auth)
            return described.server
        if server.is_url:
            return _at(server.name, server.headers, server.auth)
        words = tuple(program_words(server.name))
        return Server(words=words, cwd=server.cwd, env=server.env, inherit=server.inherit)


def _at(url: str, headers: Mapping[str, str], auth: HttpAuthorization | None) -> Server:
    open_http(url, headers=headers, auth=auth)  # refuses unusable values
    return Server(url=url, headers=headers, authorizer=auth.authorizer(url) if auth else None)


class _ServerReader(ConnectConfig[Any, Any, Any]):
    """The description of a server in a configuration, without a connection."""

    server = Server()

    def make_opener(self, name: str, /, *arguments: Any, **options: Any) -> Opener:
        """Note the part instead of opening it."""
        (what,) = arguments
        if name == "open_http":
            self.server = _at(what, options["headers"], options.get("auth"))
        else:
            folder = options["cwd"] and Path(options["cwd"])
            self.server = Server(words=tuple(what), cwd=folder, env=options["env"])

        async def refuse() -> Transport:
            raise NotImplementedError("this server is only described")

        return refuse
