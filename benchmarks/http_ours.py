"""The echo server of generated stubs over HTTP.

`python -m benchmarks.http_ours REVISION TOOLS` serves that revision, and lists so many tools.
"""

import sys

from mcp_revisions import http_app

from .http_echo import server_of
from .http_uvicorn import serve

if __name__ == "__main__":
    serve(http_app(server_of(sys.argv[1], int(sys.argv[2]))))
