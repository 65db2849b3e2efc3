"""A server with many faults, as a program without dependencies; others only make trouble.

python faulty_server.py [faults|silent|flood|long-line|pages|deaf|utf-16]
"""

import json
import sys
import time
from typing import Any


def write(value: Any) -> None:
    """Write a message as a line."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def answer(message: dict[str, Any], result: Any) -> None:
    write({"jsonrpc": "2.0", "id": message.get("id"), "result": result})


def fail(message: dict[str, Any], code: int) -> None:
    error = {"code": code, "message": "it failed"}
    write({"jsonrpc": "2.0", "id": message.get("id"), "error": error})


TOOLS: list[dict[str, Any]] = [
    {"name": "add two", "inputSchema": {"type": "object", "required": "n"}},
    {"name": "ok", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": "yes"}},
]


def faults(message: Any) -> None:
    """Answer wrongly where possible."""
    method: Any = message.get("method")
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        server = {"name": "faulty", "version": "1"}
        print("Server ready")
        answer(
            message,
            {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server},
        )
    elif method == "server/discover":
        fail(message, -32601)
    elif method == "ping" and isinstance(message.get("id"), str):
        answer({"id": int(message["id"])}, {})
        answer(message, {})
    elif method == "ping":
        answer(message, {})
    elif method == "tools/list":
        answer(message, {"tools": TOOLS})
    elif method == "tools/call":
        fail(message, -32602)
    elif method in ("prompts/list", "resources/list"):
        answer(message, {method.partition("/")[0]: [{"name": "x", "uri": "file:///x"}]})
    elif method == "notifications/cancelled":
        fail(message, -32600)
    elif "id" in message and method is not None:
        write({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
        fail(message, -32601)


def trouble(kind: str, message: Any) -> None:
    """Answer so as to harm a client without limits."""
    if message.get("method") == "initialize" and kind in ("pages", "deaf"):
        version = message["params"]["protocolVersion"]
        server = {"name": kind, "version": "1"}
        capabilities: dict[str, Any] = {"tools": {}}
        result = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": server}
        answer(message, result)
    elif kind == "utf-16" and "id" in message:
        answered = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": None})
        sys.stdout.buffer.write(answered.encode("utf-16-le") + b"\n")
        sys.stdout.flush()
    elif kind == "pages" and message.get("method") == "tools/list":
        answer(message, {"tools": [], "nextCursor": str(time.monotonic_ns())})
    elif kind == "pages" and "id" in message:
        fail(message, -32601)
    elif kind == "long-line":
        for _ in range(100):
            sys.stdout.write("x" * 1_000_000)
        sys.stdout.write("\n")
        sys.stdout.flush()
    elif kind == "flood":
        while True:
            write({"jsonrpc": "2.0", "method": "notifications/flood"})


def main(kind: str) -> None:
    """Read messages until the input ends."""
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if kind == "faults":
            faults(message)
        else:
            trouble(kind, message)


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["faults"]))
