"""What docs/vectors.md shows runs as it stands there, in Python and in Node.js."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.instep.vectors.outcome import Verdict
from mcp_protogen.instep.vectors.outcome_changes import SEVERITIES, findings
from mcp_protogen.instep.vectors.responder_protocol import hello, question, read_answer, read_hello
from mcp_protogen.instep.vectors.running import run_vectors
from mcp_protogen.instep.vectors.writing import document as as_document
from support.docs.pages import block_texts, indented_block, page, run
from support.revisions import REVISIONS
from support.vectors.vector_sets import document, vectors

PAGE = page("vectors.md")
(READER,) = block_texts("vectors.md", "python", "reader")
(NODE_READER,) = block_texts("vectors.md", "javascript", "reader")
(RESPONDER,) = block_texts("vectors.md", "javascript", "responder")
(VECTOR,) = block_texts("vectors.md", "json")
REVISION = "2025-11-25"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(
    NODE is None, reason="NOT TESTED for want of node: the responder for it"
)


def write_vectors(folder: Path) -> Path:
    path = folder / "vectors.json"
    path.write_bytes(as_document(vectors(REVISION)))
    return path


def reader() -> Callable[..., Any]:
    function: Callable[..., Any] = run(READER)["wrong_verdicts"]
    return function


def accept_all(subject: Any, value: Any) -> bool:
    return True


def test_a_reader_is_at_most_30_lines() -> None:
    assert READER.count("\n") <= 30
    assert NODE_READER.count("\n") <= 30


def test_the_python_reader_finds_no_fault_with_the_schema_itself(tmp_path: Path) -> None:
    schema = document(REVISION)
    asked: list[str] = []

    def accepts(subject: Any, value: Any) -> bool | None:
        if isinstance(subject, tuple):
            return None
        asked.append(subject)
        return schema.accepts(f"/$defs/{subject}", value)

    assert list(reader()(write_vectors(tmp_path), accepts)) == []
    assert set(asked) == set(schema.schema["$defs"])


def test_the_python_reader_names_what_a_careless_reader_accepts(tmp_path: Path) -> None:
    path = write_vectors(tmp_path)
    found = {id for id, _, _ in reader()(path, accept_all)}
    wanted = {v.id for v in vectors(REVISION).vectors if not v.valid and not v.tolerated}
    assert found == wanted


@needs_node
def test_the_reader_for_node_says_the_same(tmp_path: Path) -> None:
    path = write_vectors(tmp_path)
    (tmp_path / "reader.mjs").write_text(NODE_READER)
    program = """
        import { wrongVerdicts } from "./reader.mjs";
        const careless = [...wrongVerdicts(process.argv[2], () => true)];
        const unknown = [...wrongVerdicts(process.argv[2], () => undefined)];
        const messages = new Set();
        for (const _ of wrongVerdicts(process.argv[2], (subject) => {
          if (Array.isArray(subject)) messages.add(subject.join(":"));
        }));
        console.log(JSON.stringify([careless, unknown, [...messages]]));
    """
    (tmp_path / "program.mjs").write_text(program)
    assert NODE is not None
    done = subprocess.run(
        [NODE, "program.mjs", str(path)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    careless, unknown, messages = json.loads(done.stdout)
    assert careless == [list(row) for row in reader()(path, accept_all)]
    assert unknown == []
    subjects = {str(v.subject) for v in vectors(REVISION).vectors if v.subject.method}
    assert set(messages) == subjects


@needs_node
def test_the_responder_for_node_can_be_tried(tmp_path: Path) -> None:
    (tmp_path / "responder.mjs").write_text(RESPONDER)
    outcome = run_vectors(["node", "responder.mjs"], vectors(REVISION), cwd=tmp_path)
    assert outcome.implementation == "example"
    known = {r.vector.subject.type for r in outcome.results if r.verdict is not Verdict.UNKNOWN}
    assert known == {"ProgressToken"}
    assert findings(outcome) == ()
    refused = [r for r in outcome.results if r.verdict is Verdict.REFUSED]
    assert {r.error for r in refused} == {"a progress token is a text or a whole number"}


def test_the_example_of_a_vector_is_one() -> None:
    example = json.loads(VECTOR)
    (line,) = [
        row
        for row in json.loads(as_document(vectors(REVISION)))["vectors"]
        if row["id"] == example["id"]
    ]
    assert example == line


def test_the_conversation_on_the_page_is_one() -> None:
    lines = indented_block("vectors.md", "→ {").replace("{...}", "{}").splitlines()
    said = [(line[0], line[2:].encode()) for line in lines]
    assert [side for side, _ in said] == ["→", "←"] * 3
    assert json.loads(said[0][1]) == json.loads(hello(REVISION))
    assert read_hello(said[1][1], "here").name == "mylib 1.4"
    known = {vector.id: vector for vector in vectors(REVISION).vectors}
    for (_, asked), (_, answer) in zip(said[2::2], said[3::2], strict=True):
        vector = known[json.loads(asked)["id"]]
        assert json.loads(asked).keys() == json.loads(question(vector)).keys()
        assert json.loads(asked)["value"] in ({}, vector.value)
        accepted = read_answer(answer, vector, "here").verdict is Verdict.ACCEPTED
        assert accepted == vector.valid


def table_after(heading: str) -> set[str]:
    rows = PAGE.partition(heading)[2].partition("\n\n|")[2].partition("\n\n")[0]
    return set(re.findall(r"^\|? ?`([a-z-]+)`", rows, re.MULTILINE))


def test_every_code_of_a_finding_is_on_the_page() -> None:
    assert table_after("Exit code 1 means") == SEVERITIES.keys()


def test_every_code_of_a_vector_is_on_the_page() -> None:
    paragraph = PAGE.partition("An invalid vector has one fault")[2].partition("A reader in")[0]
    used = {vector.code for revision in REVISIONS for vector in vectors(revision).vectors}
    named = set(re.findall(r"`([A-Za-z]+)`", paragraph))
    assert used - named == set()
