"""An application that reads each request and always sends the same answer, without a protocol.

`python -m benchmarks.http_bare ANSWER`, where ANSWER is a JSON object with `headers` and `body`.
"""

import json
import sys
from typing import Any

from .http_uvicorn import serve

_ANSWER = json.loads(sys.argv[1])
_HEADERS = [(name.encode(), value.encode()) for name, value in _ANSWER["headers"]]
_START = {"type": "http.response.start", "status": 200, "headers": _HEADERS}
_BODY = {"type": "http.response.body", "body": _ANSWER["body"].encode()}


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """Read the whole body, then answer."""
    if scope["type"] != "http":
        raise RuntimeError(f"no answer to {scope['type']}")
    body = b""
    while True:
        event = await receive()
        body += event.get("body", b"")
        if not event.get("more_body"):
            break
    await send(_START)
    await send(_BODY)


if __name__ == "__main__":
    serve(answer)
