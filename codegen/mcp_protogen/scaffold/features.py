"""The features of a revision that the code of a new project shows.

They are read off the pinned schema, so that a further revision needs no change here.
"""

from typing import Any

from mcp_protogen.base.canonical import parse_json
from mcp_protogen.inputs.pins import read_snapshot


def features(revision: str) -> dict[str, bool]:
    """Return by name whether tools have structured results and tasks, and servers can ask."""
    schema: dict[str, Any] = parse_json(read_snapshot(revision), revision)
    types: dict[str, Any] = schema.get("$defs") or schema["definitions"]
    return {
        "structured": "structuredContent" in types["CallToolResult"]["properties"],
        "tasks": "CreateTaskResult" in types,
        "elicitation": "ElicitRequest" in types,
    }
