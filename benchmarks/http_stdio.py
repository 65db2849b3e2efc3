"""The echo server of generated stubs over stdio."""

from mcp_revisions import run_stdio

from .http_echo import server_of
from .places import REVISION

if __name__ == "__main__":
    run_stdio(server_of(REVISION))
