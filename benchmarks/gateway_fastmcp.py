"""fastmcp's proxy for the servers of a file: `python -m benchmarks.gateway_fastmcp FILE PORT`."""

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

# It is in an environment of its own.
_server: Any = import_module("fastmcp.server")

if __name__ == "__main__":
    file, port = sys.argv[1:]
    proxy = _server.create_proxy(json.loads(Path(file).read_bytes()), name="gateway")
    options = {"show_banner": False, "log_level": "error", "json_response": True}
    proxy.run(transport="http", port=int(port), **options)
