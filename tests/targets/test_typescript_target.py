"""The target `typescript`, in the eyes of `tsc`, and its validator, which Node runs."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from mcp_protogen.base.names import module_name
from mcp_protogen.instep.vectors.outcome import Verdict
from mcp_protogen.instep.vectors.outcome_changes import findings
from mcp_protogen.instep.vectors.running import run_vectors
from support.conformance.kit import kit
from support.revisions import REVISIONS
from support.tables import case
from support.targets.differential import (
    ANY_JSON_SCHEMA,
    COMPARED,
    Difference,
    explain_differences,
    samples,
)
from support.targets.typescript import (
    PROGRAMS,
    RENAMED,
    RESOLUTIONS,
    compile_project,
    complaints,
    faults,
    project,
    run,
    write_program,
)
from support.vectors.vector_sets import vectors

pytestmark = pytest.mark.long

DIFFERENCES = (ANY_JSON_SCHEMA,)
"""All that the validator does not judge as the schema does."""


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_all_modules_are_right_in_the_eyes_of_a_strict_compiler(resolution: str) -> None:
    modules = [f"{module_name(revision)}.ts" for revision in REVISIONS]
    assert complaints(project(), *modules, "wire.ts", resolution=resolution) == []
    assert complaints(project("package"), "index.ts", "wire.ts", resolution=resolution) == []


def test_wrong_use_of_types_and_tables_is_refused() -> None:
    assert complaints(project(), "usage.ts") == []
    text = (PROGRAMS / "usage.ts").read_text()
    bare = text.replace("  // @ts-expect-error", "  //").replace("\n// @ts-expect-error", "\n//")
    refused = complaints(project(), write_program(project(), "misuse.ts", bare))
    assert len(refused) == text.count("@ts-expect-error") == 13


def proofs(*modules: str) -> list[str]:
    """Programs that are right if the table and the interfaces of a module say the same."""
    proof = (PROGRAMS / "proof.ts").read_text()
    return [
        write_program(project(), f"proof_{module}.ts", proof.replace("MODULE", module))
        for module in modules
    ]


def test_the_table_says_what_the_interfaces_say() -> None:
    assert complaints(project(), *proofs(*map(module_name, REVISIONS))) == []


CHANGES = (
    ('name: "string",\n      arguments:', 'name: "number",\n      arguments:'),
    ('required: ["name"]', "required: []"),
    ("isError?: boolean;", "isError: boolean;"),
    ('{ constants: ["user", "assistant"] }', '{ constants: ["user"] }'),
)


def test_a_table_that_says_something_else_is_found_out() -> None:
    module = (project() / "v2025_11_25.ts").read_text()
    names = [f"changed_{number}" for number in range(len(CHANGES))]
    for name, (said, instead) in zip(names, CHANGES, strict=True):
        assert said in module
        write_program(project(), f"{name}.ts", module.replace(said, instead))
    programs = proofs(*names)
    found = {complaint.partition("(")[0] for complaint in complaints(project(), *programs)}
    assert found == set(programs)


def test_node_runs_compiled_modules() -> None:
    program = """
        import { v2025_11_25 as mcp } from "./index.js";
        const { parse } = mcp;
        console.log(mcp.REVISION, mcp.CAPABILITIES.SERVER_TOOLS.path, parse("Role", "user").ok);
        console.log(mcp.LATEST_PROTOCOL_VERSION, mcp.JSONRPC_VERSION, mcp.PARSE_ERROR);
    """
    name = write_program(project("package"), "run.mjs", program)
    printed = "2025-11-25 [ 'tools' ] true\n2025-11-25 2.0 -32700\n"
    assert run(compile_project("package"), name) == printed


def test_the_validator_and_the_schema_agree_on_all_samples(tmp_path: Path) -> None:
    used: set[Difference] = set()
    for revision in COMPARED:
        with case(revision):
            asked = [(sample.name, sample.value) for sample in samples(revision)]
            verdicts = [not found for found in faults(revision, asked, tmp_path)]
            used |= explain_differences(revision, verdicts, DIFFERENCES, used)
    assert used == set(DIFFERENCES)


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_validator_gives_the_right_verdict_on_all_vectors(revision: str) -> None:
    command = [kit().node, "--disable-warning=ExperimentalWarning", "responder.mjs"]
    outcome = run_vectors(command, vectors(revision), cwd=compile_project())
    assert findings(outcome) == ()
    assert [r.vector.id for r in outcome.results if r.verdict is Verdict.UNKNOWN] == []


def test_a_fault_is_reported_at_its_place_or_inside_it(tmp_path: Path) -> None:
    for revision in REVISIONS:
        with case(revision):
            wrong = [
                vector
                for vector in vectors(revision).vectors
                if vector.subject.type and not vector.valid and not vector.tolerated
                # The intended alternative may be farther than another one.
                and "/as-" not in vector.id
            ]
            asked = [
                (RENAMED.get(vector.subject.type, vector.subject.type), vector.value)
                for vector in wrong
            ]
            found = zip(wrong, faults(revision, asked, tmp_path), strict=True)
            assert [
                vector.id for vector, places in found if not _is_at(vector.pointer, places)
            ] == []


def _is_at(pointer: str, places: Iterable[str]) -> bool:
    return any(place == pointer or place.startswith(f"{pointer}/") for place in places)
