"""The messages that are read and written: a call, an answer of 1 KB and a list of 50 tools.

A call comes with and without a progress token, which many clients send and some do not. A tool has
about 1 KB, as those have whose schemas are derived from annotated functions.
"""

import json
from typing import Any, Final


def _text(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _answer(result: Any) -> bytes:
    return _text({"jsonrpc": "2.0", "id": 7, "result": result})


def _schema(**members: tuple[str, str]) -> dict[str, Any]:
    properties = {
        name: {"type": type, "title": name.replace("_", " ").title(), "description": description}
        for name, (type, description) in members.items()
    }
    return {"type": "object", "properties": properties, "required": list(members)[:1]}


def _tool(number: int) -> dict[str, Any]:
    return {
        "name": f"orders_search_{number}",
        "title": f"Search orders, form {number}",
        "description": "Finds orders by customer and date, the newest first, at most `limit`.",
        "inputSchema": _schema(
            customer=("string", "Number or e-mail address of the customer"),
            since=("string", "First day to look at, as YYYY-MM-DD"),
            until=("string", "Last day to look at; today if left out"),
            limit=("integer", "How many orders to give back at most"),
        ),
        "outputSchema": _schema(
            orders=("array", "The orders that were found"),
            more=("boolean", "Whether there are more than `limit`"),
        ),
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }


def _call(**meta: Any) -> bytes:
    arguments = {"customer": "C-4711", "since": "2026-01-31", "limit": 20}
    params = {"name": "orders_search", "arguments": arguments, **meta}
    return _text({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})


_LINE = "4711;2026-02-14;shipped;3 items;129.90 EUR\n"

CALL: Final = _call()
CALL_WITH_PROGRESS: Final = _call(_meta={"progressToken": 7})
RESULT: Final = _answer({"content": [{"type": "text", "text": _LINE * 21}], "isError": False})
TOOLS: Final = _answer({"tools": [_tool(number) for number in range(50)]})
