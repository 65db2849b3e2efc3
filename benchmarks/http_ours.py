"""The echo server of generated stubs over HTTP.

`python -m benchmarks.http_ours REVISION TOOLS [--all]` serves that revision with that many tools;
with `--all`, it translates for clients of every other revision.
"""

import sys

from mcp_revisions import REVISIONS, http_app

from .http_echo import server_of
from .http_uvicorn import serve

if __name__ == "__main__":
    spoken = REVISIONS if "--all" in sys.argv else None
    serve(http_app(server_of(sys.argv[1], int(sys.argv[2])), revisions=spoken))
