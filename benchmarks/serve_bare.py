"""An echo loop: a line in, `json` both ways, a line out; the least that any protocol needs."""

import json
import sys
from typing import Any


def result_of(message: Any) -> Any:
    if message["method"] == "initialize":
        info = {"name": "echo", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
    return {"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]}


for line in sys.stdin.buffer:
    message = json.loads(line)
    if "id" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result_of(message)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
