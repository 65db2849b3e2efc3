"""A server that breaks the rules as its first argument says; standard library only.

The second argument is a file that counts the starts.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, TypeAlias

MODE, COUNTER = sys.argv[1], Path(sys.argv[2])
Message: TypeAlias = dict[str, Any]
ERRORS = {"-32601", "-32602", "-32600", "-32000"}

COUNTER.write_bytes((COUNTER.read_bytes() if COUNTER.exists() else b"") + b"x")
STARTS = len(COUNTER.read_bytes())


def write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def send(message: Message) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def welcome(asked: Message) -> None:
    result: Message = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
    result["serverInfo"] = {"name": "misbehaving", "version": "1"}
    send({"id": asked["id"], "result": result})


def answer_probe(asked: Message) -> None:
    """Answer a modern request as an old server."""
    if MODE in ERRORS:
        send({"id": asked["id"], "error": {"code": int(MODE), "message": "no"}})
    elif MODE == "text":
        write(b"Unknown command: server/discover\n")
        send({"id": asked["id"], "error": {"code": -1, "message": "no"}})
    elif MODE == "exit":
        print("what is server/discover?", file=sys.stderr, flush=True)
        sys.exit(3)
    elif MODE != "silence":
        send({"id": asked["id"], "error": {"code": -32601, "message": "no"}})


def initialize(asked: Message) -> None:
    match MODE:
        case "mute":
            pass
        case "modern after all":
            data = {"supported": ["2026-07-28"], "requested": "x"}
            send({"id": asked["id"], "error": {"code": -32022, "message": "no", "data": data}})
        case "dies":
            print("out of memory", file=sys.stderr, flush=True)
            os._exit(9)
        case _:
            welcome(asked)


def call(asked: Message) -> None:
    answer: Message = {"id": asked["id"], "result": {"content": []}}
    match MODE:
        case "huge line":
            write(b'{"jsonrpc":"2.0","id":%d,"result":"' % asked["id"])
            for _ in range(40):
                write(b"x" * 1_000_000)
            write(b'"}\n')
            send(answer)
        case "half a line":
            write(b'{"jsonrpc":"2.0","id":')
            sys.exit(0)
        case "noise":
            write(bytes(range(256)) * 100 + b"\n\n\xff\n")
            send({"id": 12345, "result": {}})
            send({"id": "abc", "error": {"code": 1, "message": "m"}})
            send({"id": 1, "method": "no/such"})
            send({"id": True, "method": "ping"})
            send(answer)
            send(answer)
            send({"id": asked["id"], "error": {"code": 1, "message": "late"}})
        case "flood":
            for number in range(20_000):
                params = {"level": "info", "data": number}
                send({"method": "notifications/message", "params": params})
            send(answer)
        case "wrong shape":
            send({"id": asked["id"], "result": {"content": "text"}})
        case _:
            send(answer)


if MODE == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if MODE == "wrapper":
    child = os.fork()
    if child == 0:
        # A child in the same group that is never told to end.
        os.close(0)
        os.close(1)
        os.close(2)
        time.sleep(600)
    COUNTER.with_suffix(".pid").write_text(str(child))

for line in sys.stdin.buffer:
    message = json.loads(line)
    if message.get("method") == "initialize":
        initialize(message)
    elif message.get("method") == "tools/call":
        call(message)
    elif "_meta" in message.get("params", {}) and "id" in message:
        if MODE == "modern after all" and STARTS == 1:
            # The first probe times out.
            continue
        if MODE == "hangs":
            time.sleep(600)
        if MODE == "modern after all":
            result: Message = {"supportedVersions": ["2026-07-28"], "capabilities": {}}
            send({"id": message["id"], "result": result})
            continue
        answer_probe(message)
if MODE == "stubborn":
    time.sleep(600)
