"""What commands say when they refuse: `refusals.txt` has command lines with all that they print."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import tables
from support.running import Run
from support.unit.schemas import STRING, record, ref, schema

from .replay import ENVIRONMENT

REFUSALS = Path(__file__).with_name("refusals.txt")
FAULTY = schema()["$defs"] | {
    "A": ref("B"),
    "B": ref("A"),
    "C": record(fooBar=STRING, foo_bar=STRING, gone=ref("Nowhere")),
    "Größe": STRING,
}
FILES = {
    "a/mcp-gen.lock": "",
    "b/mcp-gen.lock": "",
    "cut.json": '{"$defs": {"A"',
    "empty.json": "{}",
    "faulty.json": json.dumps({"$defs": FAULTY}),
    "few.json": '{"$defs": {"A": {}}}',
    "names.json": '{"types": {"2025-06-18": {"Tol": "Utility", "Prompt": "Any"}}}',
    "patches.json": '{"patches": []}',
    "sdk/sums.py": "def add(): ...",
    "source/schema/draft/schema.json": '{"$defs": {}}',
    "templates/templates.toml": "contract = 3",
    "wrong.json": '{"$defs": {"A": {"type": "objekt"}, "B": {"required": "name"}}}',
    "wrong/schema/draft/schema.json": "<html>",
}


def command_lines() -> Iterator[tuple[str, str]]:
    """Yield each command line with what it prints."""
    for said in REFUSALS.read_text(encoding="utf-8").split("$ mcp-gen")[1:]:
        line, _, printed = said.partition("\n")
        yield line, printed


def test_each_refusal_names_the_place_and_what_to_do(
    mcp_gen: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    for line, printed in command_lines():
        with tables.case(line):
            ran = mcp_gen(*shlex.split(line))
            assert (ran.code, ran.out, ran.err) == (2, "", printed)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {*FILES}
