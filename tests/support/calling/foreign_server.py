"""A server over stdio, without our runtime, whose texts all try to act.

Each code stands between `<` and `>`, so that a test finds it if it reaches a terminal.
"""

import json
import sys
from typing import Any, Final

COLOURS: Final = tuple(f"\x1b[{code}m" for code in ("0", "1", "2", "31", "32", "1;31", "8"))
CONTROLS: Final = tuple(map(chr, (*range(0x20), *range(0x7F, 0xA0))))
DIRECTIONS: Final = tuple("\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202d\u202e\u2066\u2067")
CODES: Final = tuple({*CONTROLS, *DIRECTIONS, *COLOURS, "\x1b]0;owned\x07", "\x9b31m"} - {*"\t\n"})
TEXT: Final = "nasty" + "".join(f"<{code}>" for code in CODES)

_ANSWERS: Final[dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "prompts": {}, "resources": {}, "logging": {}},
        "serverInfo": {"name": TEXT, "version": TEXT},
        "instructions": TEXT,
    },
    "tools/list": {
        "tools": [
            {
                "name": "say",
                "title": TEXT,
                "description": TEXT,
                "inputSchema": {
                    "type": "object",
                    "properties": {TEXT: {"type": "string", "description": TEXT, "enum": [TEXT]}},
                },
            }
        ]
    },
    "tools/call": {"content": [{"type": "text", "text": TEXT}]},
    "prompts/list": {"prompts": [{"name": "ask", "description": TEXT}]},
    "prompts/get": {
        "description": TEXT,
        "messages": [{"role": "user", "content": {"type": "text", "text": TEXT}}],
    },
    "resources/list": {"resources": [{"uri": "memo://a", "name": TEXT, "description": TEXT}]},
    "resources/templates/list": {
        "resourceTemplates": [{"uriTemplate": "memo://{a}", "name": TEXT, "description": TEXT}]
    },
    "resources/read": {"contents": [{"uri": "memo://a", "mimeType": "text/plain", "text": TEXT}]},
    "logging/setLevel": {},
    "ping": {},
}


def _send(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main() -> None:
    """Answer until the input ends; with the third argument `fail`, calls fail."""
    print(TEXT, file=sys.stderr, flush=True)
    answers = dict(_ANSWERS)
    if "fail" in sys.argv:
        del answers["tools/call"]
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        if message["method"] == "tools/call":
            log = {"level": "error", "logger": TEXT, "data": TEXT}
            _send({"method": "notifications/message", "params": log})
        answer = {"error": {"code": -32000, "message": TEXT, "data": TEXT}}
        if message["method"] in answers:
            answer = {"result": answers[message["method"]]}
        _send({"id": message["id"], **answer})


if __name__ == "__main__":
    main()
