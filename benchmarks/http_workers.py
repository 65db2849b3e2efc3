"""The echo server over HTTP as `run_http` serves it, with some workers.

`python -m benchmarks.http_workers PORT WORKERS` serves 2026-07-28, which needs no sessions.
"""

import sys

from mcp_revisions import http_app, run_http

from .http_echo import server_of
from .http_requests import STATELESS

app = http_app(server_of(STATELESS))

if __name__ == "__main__":
    run_http("benchmarks.http_workers:app", port=int(sys.argv[1]), workers=int(sys.argv[2]))
