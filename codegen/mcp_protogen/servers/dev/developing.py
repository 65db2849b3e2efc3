"""`mcp-gen dev` as a process: a bridge to a server that is started again after edits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_protogen.servers.bridge.http_side import HttpSide
from mcp_protogen.servers.bridge.process import BridgeOptions, run_bridge
from mcp_protogen.servers.connect.named_server import NamedServer
from mcp_protogen.servers.dev.dev_server import DevServer
from mcp_protogen.servers.dev.watching import WatchedFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class DevOptions:
    """The server, its clients, and what is watched beside the folder of its program."""

    server: NamedServer
    http: HttpSide | None = None
    watch: Sequence[Path] = ()
    inspects: bool = True


def run_dev(options: DevOptions, show: Callable[[str], object]) -> None:
    """Serve clients until the end; `show` gets lines for the author of the server.

    Raise `ProblemError` if the watching cannot begin, and as `run_bridge` does.
    """
    files = WatchedFiles(options.server, options.watch)
    server = DevServer(options.server, show, inspects=options.inspects)
    show(f"watching {', '.join(map(str, files.paths))}")
    bridge = BridgeOptions(server=options.server, http=options.http)
    run_bridge(bridge, opener=server.open, beside=lambda: server.run(files.changes()))
