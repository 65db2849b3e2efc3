"""The echo server of generated stubs over stdio, as the HTTP one but for its transport."""

from mcp_revisions import run_stdio

from .http_echo import server_of
from .places import REVISION

if __name__ == "__main__":
    run_stdio(server_of(REVISION))
