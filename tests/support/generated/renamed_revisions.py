"""Two made-up revisions after the newest one, which give methods and a type other names.

The second gives a method the name that another one had before.
"""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile

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
        "Implementation": "PeerInfo",
    },
    AGAIN: {
        "elicitation/ask": "forms/fill",
        "sampling/generate": "elicitation/create",
        "notifications/log": "notifications/entry",
        "PeerInfo": "Party",
    },
}
_WORD: Final = re.compile(r'"(#/\$defs/)?([\w/]+)"')


def name_in(revision: str, name: str) -> str:
    """Return the name in a revision of something that has this name in the newest one."""
    for renaming, names in NAMES.items():
        name = names.get(name, name) if renaming <= revision else name
    return name


def options_with_names() -> GenerationOptions:
    """Return the options of a package with these revisions."""
    texts = {NEWEST: (schema_folder() / NEWEST / "schema.json").read_text()}
    rules: dict[str, Json] = {}
    for older, newer in pairwise((NEWEST, *NAMES)):
        names = NAMES[newer]
        texts[newer] = _WORD.sub(
            lambda word, names=names: f'"{word[1] or ""}{names.get(word[2], word[2])}"',
            texts[older],
        )
        rules[newer] = {"older": older, "became": names, "rules": [], "errors": []}
    return GenerationOptions(
        REVISIONS,
        {name: GivenFile(f"{name}.json", texts[name].encode()) for name in NAMES},
        rules={
            name: GivenFile(f"{name}-rules.json", json.dumps(rules[name]).encode())
            for name in NAMES
        },
    )


def write_package(place: Path) -> None:
    """Write a package of these revisions, with tasks."""
    parts = ("bridge", "stdio", "tasks", "testing", "toolkit")
    options = options_with_names()._replace(
        parts=parts, extensions={"tasks": None}, runtime="mcp_protogen.runtime"
    )
    for file in generated_once(options).files:
        path = place / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
