"""A server over stdio whose messages break the schema in many places; a program.

With the argument `bare` it breaks nothing, declares nothing, lists nothing, and repeats arguments.
"""

import json
import sys
from typing import Any

TEXT = {"type": "text", "text": "hi", "annotations": None}
TOOL = {"name": "echo", "title": None, "inputSchema": {"type": "object"}, "annotations": None}
PROMPTS = [{"name": "greet", "arguments": None}, {"name": "show"}, {"title": "nameless"}]
RESOURCE = {"uri": "memo://a", "name": "a", "size": None}
MILK = {"uri": "memo://a", "text": "milk"}
NOT_BASE64 = "%%%"
IMAGE = {"type": "image", "data": NOT_BASE64, "mimeType": "image/png"}
RESULTS: dict[str, Any] = {
    "tools/list": {"tools": [TOOL, {"name": "other", "inputSchema": 5}], "nextCursor": None},
    "tools/call": {"content": [TEXT], "structuredContent": None, "isError": None},
    "prompts/list": {"prompts": PROMPTS},
    "prompts/get": {"description": None, "messages": [{"role": "user", "content": TEXT}]},
    "resources/list": {"resources": [RESOURCE, {"uri": "memo://b"}]},
    "resources/templates/list": {"resourceTemplates": [None]},
    "resources/read": {"contents": [{**MILK, "mimeType": None}]},
}
NAMED: dict[str, Any] = {
    "memo://null": {"contents": [MILK, {"uri": "memo://null", "blob": None}]},
    "memo://logo": {"contents": [{"uri": "memo://logo", "blob": NOT_BASE64}]},
    "draw": {"content": [IMAGE]},
    "show": {"messages": [{"role": "user", "content": IMAGE}]},
}
"""The results of requests with these names and URIs."""


def answer(method: str, params: Any) -> dict[str, Any]:
    refusal = {"error": {"code": -32601, "message": "no"}}
    is_bare = "bare" in sys.argv
    if method == "initialize":
        capabilities: dict[str, Any] = {
            "tools": {},
            "prompts": {},
            "resources": {},
            "logging": None,
        }
        version = min(params["protocolVersion"], "2025-11-25")
        info = {"name": "broken", "version": "1" if is_bare else None}
        result = {"protocolVersion": version, "serverInfo": info}
        return {"result": {**result, "capabilities": {} if is_bare else capabilities}}
    if is_bare:
        text = json.dumps(params.get("arguments"))
        called = {"result": {"content": [{"type": "text", "text": text}]}}
        return called if method == "tools/call" else refusal
    if (named := params.get("name", params.get("uri"))) in NAMED:
        return {"result": NAMED[named]}
    return {"result": RESULTS[method], "error": None} if method in RESULTS else refusal


def write(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message.get("method"), message.get("params", {})
        if "id" not in message or method is None:
            continue
        token = params.get("_meta", {}).get("progressToken")
        for progress in range(1, 4) if method == "tools/call" and token is not None else ():
            told = {"progressToken": token, "progress": progress}
            write({"method": "notifications/progress", "params": told})
        write({"id": message["id"], **answer(method, params)})


if __name__ == "__main__":
    main()
