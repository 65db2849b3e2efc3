"""A server over stdio whose messages break the schema in many places; a program."""

import json
import sys
from typing import Any

TEXT = {"type": "text", "text": "hi", "annotations": None}
TOOL = {"name": "echo", "title": None, "inputSchema": {"type": "object"}, "annotations": None}
PROMPT = {"name": "greet", "arguments": None}
RESOURCE = {"uri": "memo://a", "name": "a", "size": None}
RESULTS: dict[str, Any] = {
    "tools/list": {"tools": [TOOL, {"name": "other", "inputSchema": 5}], "nextCursor": None},
    "tools/call": {"content": [TEXT], "structuredContent": None, "isError": None},
    "prompts/list": {"prompts": [PROMPT, {"title": "nameless"}]},
    "prompts/get": {"description": None, "messages": [{"role": "user", "content": TEXT}]},
    "resources/list": {"resources": [RESOURCE, {"uri": "memo://b"}]},
    "resources/templates/list": {"resourceTemplates": [None]},
    "resources/read": {"contents": [{"uri": "memo://a", "mimeType": None, "text": "milk"}]},
}

NULL = {"contents": [{"uri": "memo://a", "text": "milk"}, {"uri": "memo://null", "blob": None}]}


def opening(params: Any) -> Any:
    capabilities: dict[str, Any] = {"tools": {}, "prompts": {}, "resources": {}, "logging": None}
    version = min(params["protocolVersion"], "2025-11-25")
    info = {"name": "broken", "version": None}
    return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        method = message.get("method")
        if "id" not in message or method is None:
            continue
        answer = {"result": opening(message["params"])} if method == "initialize" else None
        if method in RESULTS:
            answer = {"result": RESULTS[method], "error": None}
        if message.get("params", {}).get("uri") == "memo://null":
            answer = {"result": NULL}
        token = message.get("params", {}).get("_meta", {}).get("progressToken")
        for progress in range(1, 4) if method == "tools/call" and token is not None else ():
            told = {"progressToken": token, "progress": progress}
            notice = {"jsonrpc": "2.0", "method": "notifications/progress", "params": told}
            print(json.dumps(notice), flush=True)
        refusal = {"error": {"code": -32601, "message": "no"}}
        print(
            json.dumps({"jsonrpc": "2.0", "id": message["id"], **(answer or refusal)}), flush=True
        )


if __name__ == "__main__":
    main()
