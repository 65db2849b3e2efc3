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
from mcp_protogen.servers.connect.protocol import protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server to inspect: the words of a program, or a URL.

    `transport` is the name of the one to try in place of the usual ones.
    """

    words: tuple[str, ...] = ()
    url: str = ""
    transport: str | None = None
    cwd: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    inherit: bool = False
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    authorizer: Authorizer | None = field(default=None, repr=False)


def server_of(server: NamedServer) -> Server:
    """Return the server that a user names; raise `ProblemError` as `NamedServer.opener` does."""
    with server.convert_errors():
        if server.config is not None:
            described = _ServerReader(protocol().__name__)
            described.opener(server.config, server.name, auth=server.auth)
            return described.server
        if server.is_url:
            return _at(server.name, server.transport, server.headers, server.auth)
        return Server(
            words=tuple(program_words(server.name)),
            transport=server.transport,
            cwd=server.cwd,
            env=server.env,
            inherit=server.inherit,
        )


def _at(
    url: str, transport: str | None, headers: Mapping[str, str], auth: HttpAuthorization | None
) -> Server:
    open_http(url, headers=headers, auth=auth)  # refuses unusable values
    authorizer = auth.authorizer(url) if auth else None
    return Server(url=url, transport=transport, headers=headers, authorizer=authorizer)


class _ServerReader(ConnectConfig[Any, Any, Any]):
    """The description of a server in a configuration, without a connection."""

    server = Server()

    def make_opener(self, address: str, name: str | None, /, given: Any, **options: Any) -> Opener:
        """Note the server instead of opening a connection."""
        if address == "url":
            self.server = _at(given, name, options["headers"], options.get("auth"))
        else:
            folder = options["cwd"] and Path(options["cwd"])
            words = tuple(given)
            self.server = Server(words=words, transport=name, cwd=folder, env=options["env"])

        async def refuse() -> Transport:
            raise NotImplementedError("this server is only described")

        return refuse
