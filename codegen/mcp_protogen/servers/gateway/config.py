"""Reading the settings of a gateway: a host's `mcp.json`, or a TOML file."""

from pathlib import Path

from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.runtime.client.config import read_commented
from mcp_protogen.servers.connect.named_server import NamedServer
from mcp_protogen.servers.gateway.settings import GatewaySettings, ServerSettings


def read_settings(file: Path) -> GatewaySettings:
    """Return the settings in a file; raise `ProblemError` (`bad-config`)."""
    try:
        config = read_commented(file.read_text("utf-8-sig"))
    except (ValueError, OSError) as error:
        raise ProblemError(Problem("no-server", str(error), str(file))) from error
    names = config["mcpServers"] if is_object(config) else ()
    return GatewaySettings(file=str(file), servers=tuple(_server(file, name) for name in names))


def _server(file: Path, name: str) -> ServerSettings:
    named = NamedServer(name=name, config=file)
    return ServerSettings(
        name=name,
        place=named.safe_text,
        address=named.safe_text,
        opener=named.opener(),
        prefix=name,
    )
