"""Two made-up revisions after the newest one, which give methods and a type other names.

The second gives a method the name that another one had before.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from support.generating import write_files
from support.made_once import generated_once
from support.revisions import NEWEST, OLD

Json = dict[str, Any]

RENAMED: Final = f"{int(NEWEST[:4]) + 1}-01-01"
AGAIN: Final = f"{int(NEWEST[:4]) + 1}-02-01"
REVISIONS: Final = (OLD, NEWEST, RENAMED, AGAIN)
NAMES: Final = {
    RENAMED: {
        "elicitation/create": "elicitation/ask",
        "sampling/createMessage": "sampling/generate",
        "notifications/message": "notifications/log",
        "completion/complete": "completion/suggest",
        "prompts/list": "prompts/enumerate",
        "prompts/get": "prompts/fill",
        "resources/read": "resources/fetch",
        "notifications/prompts/list_changed": "notifications/prompts/changed",
        "notifications/tools/list_changed": "notifications/tools/changed",
        "tools/call": "tools/run",
        "tools/list": "tools/enumerate",
        "Implementation": "PeerInfo",
    },
    AGAIN: {
        "elicitation/ask": "forms/fill",
        "sampling/generate": "elicitation/create",
        "notifications/log": "notifications/entry",
        "notifications/prompts/changed": "notifications/prompts/moved",
        "PeerInfo": "Party",
    },
}
_WORD: Final = re.compile(r'"(#/\$defs/)?([\w/]+)"')


def name_in(revision: str, name: str) -> str:
    """Return the name in a revision of something that has this name in the newest one."""
    for renaming, names in NAMES.items():
        name = names.get(name, name) if renaming <= revision else name
    return name


def with_names(schema: str, names: Mapping[str, str]) -> str:
    """Return the text of a schema with other names of methods and types."""

    def rename(word: re.Match[str]) -> str:
        return f'"{word[1] or ""}{names.get(word[2], word[2])}"'

    return _WORD.sub(rename, schema)


def with_revisions(
    options: GenerationOptions, schema: str, names: Mapping[str, Mapping[str, str]]
) -> GenerationOptions:
    """Return options with a revision for each of `names`, the first one like the latest here."""
    schemas, rules = dict(options.schemas), dict(options.rules)
    older = max(options.revisions)
    for revision, became in names.items():
        schema = with_names(schema, became)
        rule: Json = {"older": older, "became": became, "rules": [], "errors": []}
        schemas[revision] = GivenFile(f"{revision}.json", schema.encode())
        rules[revision] = GivenFile(f"{revision}-rules.json", json.dumps(rule).encode())
        older = revision
    return options._replace(revisions=(*options.revisions, *names), schemas=schemas, rules=rules)


def write_package(place: Path, names: Mapping[str, Mapping[str, str]] = NAMES) -> None:
    options = GenerationOptions(
        (OLD, NEWEST),
        parts=("bridge", "stdio", "tasks", "testing", "toolkit"),
        extensions={"tasks": None},
        runtime="mcp_protogen.runtime",
    )
    schema = (schema_folder() / NEWEST / "schema.json").read_text()
    options = with_revisions(options, schema, names)
    write_files(generated_once(options).files, place)
