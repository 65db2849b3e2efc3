"""The target `typescript` beside the published `schema.ts`: each type is assignable both ways."""

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest
from mcp_protogen.base.names import module_name
from mcp_protogen.pipeline.target import LAYERS, TargetOptions
from support.folders import ROOT
from support.json_types import read_json
from support.missing import SHARED, skip_untested
from support.peers.places import Command, run_command
from support.revisions import REVISIONS
from support.tables import case
from support.targets import target_modules
from support.targets.typescript import RENAMED, complaints, prepare, write_program

pytestmark = pytest.mark.long

REPOSITORY = Path(os.environ.get("MCP_SPECIFICATION", SHARED / "specification"))
NAMED = TargetOptions("typescript", LAYERS)
INLINE = TargetOptions("typescript", LAYERS, inline_objects=True)
PUBLISHED = TargetOptions("typescript", inline_objects=True, types_only=True)
OBJECT = "{ [key: string]: unknown }"


@dataclass(frozen=True, slots=True)
class Difference:
    """The reason why types differ from the published ones, and the expected text."""

    reason: str
    published: str
    ours: str


DIFFERENCES: Final = (
    Difference(
        "one tool with a broken schema must not make the whole list unreadable",
        r"(  (?:input|output)Schema\??): \{(?:[^{}]|\{[^{}]*\})*\}",
        rf"\1: {OBJECT}",
    ),
    Difference(
        "`object` also takes arrays and functions, and the schema says a JSON object",
        r"(\??): object\b",
        rf"\1: {OBJECT}",
    ),
    Difference(
        "descriptions say of these types that they may have other members",
        r"(export interface (?:ClientCapabilities|ModelHint|ServerCapabilities) \{)",
        r"\1 [key: string]: unknown;",
    ),
    Difference(
        "an error about a message whose id could not be read has none, by JSON-RPC",
        r"(export interface JSONRPCError \{(?:[^}]*?)  id):",
        r"\1?:",
    ),
    Difference(
        "its `resultType` tells this result from every other one, as pages say",
        r"(export interface InputRequiredResult extends Result \{)",
        r'\1 resultType: "input_required";',
    ),
)


OPTIONS: Final = {
    NAMED: DIFFERENCES,
    INLINE: tuple(difference for difference in DIFFERENCES if "`object`" not in difference.reason),
    PUBLISHED: (),
}


@cache
def published_types(revision: str) -> str:
    """The published types of a revision, as its pin has them."""
    pin: Mapping[str, Any] = read_json(ROOT / "schema" / "pins.json")["revisions"][revision]
    path = pin["spec_path"].replace(".json", ".ts")
    command: Command = ["git", "-C", REPOSITORY, "show", f"{pin['spec_commit']}:{path}"]
    return run_command(command)


@cache
def folder(options: TargetOptions) -> Path:
    """A folder with the modules of all revisions."""
    return prepare(target_modules.folder(options))


def not_assignable(
    options: TargetOptions, revision: str, excused: Sequence[Collection[Difference]]
) -> list[list[tuple[str, str]]]:
    """The types that are not assignable to the published ones, or not from them.

    That is asked several times, with other differences each, of one run of the compiler.
    """
    checks = list(product(_shared_names(options, revision), ("to", "from")))
    programs = [
        _program(folder(options), f"{revision}_{number}", differences, checks)
        for number, differences in enumerate(excused)
    ]
    found = complaints(folder(options), *programs)
    return [
        [checks[_line(line) - 3] for line in found if line.startswith(f"{program}(")]
        for program in programs
    ]


def _shared_names(options: TargetOptions, revision: str) -> list[str]:
    ours = (folder(options) / f"{module_name(revision)}.ts").read_text()
    names = sorted(_types(published_types(revision)) & _types(ours))
    assert len(names) > 70
    return names


def _program(
    place: Path, name: str, differences: Iterable[Difference], checks: Iterable[tuple[str, str]]
) -> str:
    """Write a program with a line for each check, after two others; return its name."""
    revision = name.partition("_")[0]
    text = published_types(revision)
    for difference in differences:
        text = re.sub(difference.published, difference.ours, text)
    write_program(place, f"published_{name}.ts", text)
    imports = (("ours", module_name(revision)), ("theirs", f"published_{name}"))
    lines = [f'import type * as {side} from "./{file}.js";' for side, file in imports]
    for type_, direction in checks:
        given, wanted = ("ours", "theirs") if direction == "to" else ("theirs", "ours")
        lines.append(
            f"export const {type_}_{direction} ="
            f" (value: {given}.{type_}): {wanted}.{type_} => value;"
        )
    return write_program(place, f"compare_{name}.ts", "\n".join(lines))


def _types(text: str) -> set[str]:
    return set(re.findall(r"^export (?:interface|type) (\w+)\b(?!<)", text, re.MULTILINE))


def _line(complaint: str) -> int:
    found = re.search(r"\((\d+),", complaint)
    assert found is not None, complaint
    return int(found[1])


@pytest.fixture(autouse=True)
def repository() -> None:
    """Skip without the repository of the specification."""
    if not REPOSITORY.exists():
        wanted = "a clone of the specification's repository (MCP_SPECIFICATION)"
        skip_untested(wanted, "that types and constants in TypeScript are the published ones")


@pytest.mark.parametrize("kind", OPTIONS, ids=["named", "inline", "published"])
def test_types_are_those_of_the_specification_but_for_the_differences(kind: TargetOptions) -> None:
    unused = set(OPTIONS[kind])
    for revision in REVISIONS:
        idle = list(unused)
        excused = [
            [reason for reason in OPTIONS[kind] if reason is not difference] for difference in idle
        ]
        with case(revision):
            found, *without = not_assignable(kind, revision, [OPTIONS[kind], *excused])
            assert found == []
        unused -= {difference for difference, missed in zip(idle, without, strict=True) if missed}
    assert unused == set()


@pytest.mark.parametrize("kind", OPTIONS, ids=["named", "inline", "published"])
def test_constants_of_the_specification_are_exported(kind: TargetOptions) -> None:
    for revision in REVISIONS:
        with case(revision):
            ours = (folder(kind) / f"{module_name(revision)}.ts").read_text()
            wanted = _constants(published_types(revision))
            assert len(wanted) >= 7
            assert wanted - _constants(ours) == set()


def test_published_options_export_exactly_the_types_of_the_specification() -> None:
    for revision in REVISIONS:
        with case(revision):
            ours = (folder(PUBLISHED) / f"{module_name(revision)}.ts").read_text()
            named = {RENAMED.get(name, name) for name in _types(published_types(revision))}
            assert _types(ours) == named


def _constants(text: str) -> set[str]:
    return set(re.findall(r"^export const [A-Z_]+ = [^;{]+;", text, re.MULTILINE))
