"""The project uses its own words."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcp_protogen.base.jsonpointer import walk
from support import missing
from support.folders import ROOT

TEXT = frozenset({".py", ".jinja", ".jinja2", ".md", ".toml", ".json", ".yml", ".yaml", ""})
# A longer common run of words is a quotation.
RUN = 9


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9_]+", text.lower())


def runs(text: str) -> Iterator[tuple[str, ...]]:
    found = words(text)
    yield from (tuple(found[start : start + RUN]) for start in range(len(found) - RUN + 1))


def descriptions(document: Any) -> Iterator[str]:
    found = (value for pointer, value in walk(document) if pointer.endswith("/description"))
    yield from (text for text in found if isinstance(text, str))


def test_no_line_repeats_nine_words_of_a_published_description() -> None:
    folder = missing.reference("published", "that no line repeats what is published")
    published = {
        run
        for path in sorted(folder.glob("*.json"))
        for text in descriptions(json.loads(path.read_bytes()))
        for run in runs(text)
    }
    assert len(published) > 1000
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    quoted = [
        f"{name}:{number}"
        for name in listed.stdout.split("\0")
        if name and Path(name).suffix in TEXT and (ROOT / name).is_file()
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").split("\n"), 1)
        if any(run in published for run in runs(line))
    ]
    assert quoted == []
