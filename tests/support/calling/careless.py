"""A server over stdio that declares nothing, lists nothing, and sends bytes that are not base64."""

import json
import sys
from typing import Any

BROKEN = "%%%"
_IMAGE = {"type": "image", "data": BROKEN, "mimeType": "image/png"}
_PROMPT = {"name": "show"}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request; None if the server answers without one."""
    if method == "initialize":
        capabilities: dict[str, Any] = (
            {} if "bare" in sys.argv else {"prompts": {}, "resources": {}}
        )
        info = {"name": "careless", "version": "1"}
        revision = params["protocolVersion"]
        return {"protocolVersion": revision, "capabilities": capabilities, "serverInfo": info}
    if method == "tools/call":
        said = {"type": "text", "text": json.dumps(params.get("arguments"))}
        return {"content": [_IMAGE if params["name"] == "draw" else said]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "blob": BROKEN}]}
    if method == "prompts/list":
        return {"prompts": [_PROMPT]}
    if method == "prompts/get":
        return {"messages": [{"role": "user", "content": _IMAGE}]}
    return None


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answer(message["method"], message.get("params", {}))
            outcome: dict[str, object] = {"result": result}
            if result is None:
                outcome = {"error": {"code": -32601, "message": "no"}}
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}), flush=True)
