"""Commands that call servers, run in process, at a server in memory."""

import signal
from collections.abc import Callable

import pytest
from mcp_protogen.servers.connect.named_server import NamedServer
from mcp_revisions import in_memory
from support.calling.servers import new_server
from support.running import Run


@pytest.fixture
def opened_servers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces every named server by one in memory, and lists the names that were opened."""
    names: list[str] = []

    def opener(server: NamedServer) -> object:
        names.append(server.name)
        return in_memory(new_server())

    monkeypatch.setattr(NamedServer, "opener", opener)
    return names


@pytest.fixture
def shop(opened_servers: list[str], mcp_gen: Run) -> Run:
    """Runs `mcp-gen` where every server is that of `support.calling.servers`."""
    del opened_servers
    return mcp_gen


@pytest.fixture
def interruptible() -> Callable[[], None]:
    """Require that the handler of SIGINT is unchanged."""
    before = signal.getsignal(signal.SIGINT)

    def check() -> None:
        assert signal.getsignal(signal.SIGINT) is before

    return check
