"""The target `typescript` beside the published `schema.ts`: each type is assignable both ways."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, Final

import pytest
from mcp_protogen.base.names import module_name
from support.folders import ROOT
from support.generated.golden_package import read_json
from support.missing import SHARED, untested
from support.peers.places import Command, run_command
from support.revisions import REVISIONS
from support.tables import case
from support.targets.typescript import complaints, project, written

pytestmark = pytest.mark.long

REPOSITORY = SHARED / "specification"
OBJECT = "{ [key: string]: unknown }"


@dataclass(frozen=True, slots=True)
class Difference:
    """Why types differ from the published ones on purpose, and how these would have to be."""

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
    Difference(
        "a type for every JSON value has no use beside `unknown`",
        r"(export type JSONValue =)[^;]*",
        r"\1 unknown",
    ),
)


@cache
def published(revision: str) -> str:
    """The published types of a revision, as its pin has them."""
    pin: Mapping[str, Any] = read_json(ROOT / "schema" / "pins.json")["revisions"][revision]
    path = pin["spec_path"].replace(".json", ".ts")
    command: Command = ["git", "-C", REPOSITORY, "show", f"{pin['spec_commit']}:{path}"]
    return run_command(command)


def not_assignable(
    revision: str, excused: Sequence[Collection[Difference]]
) -> list[list[tuple[str, str]]]:
    """The types that are not assignable to the published ones, or not from them.

    That is asked several times, with other differences each, of one run of the compiler.
    """
    checks = list(product(_compared(revision), ("to", "from")))
    programs = [
        _program(f"{module_name(revision)}_{number}", revision, differences, checks)
        for number, differences in enumerate(excused)
    ]
    found = complaints(project(), *programs)
    return [
        [checks[_line(one) - 3] for one in found if one.startswith(f"{program}(")]
        for program in programs
    ]


def _compared(revision: str) -> list[str]:
    ours = (project() / f"{module_name(revision)}.ts").read_text()
    names = sorted(_types(published(revision)) & _types(ours))
    assert len(names) > 70
    return names


def _program(
    name: str, revision: str, differences: Iterable[Difference], checks: Iterable[tuple[str, str]]
) -> str:
    """Write a program with a line for each check, after two others; return its name."""
    text = published(revision)
    for one in differences:
        text = re.sub(one.published, one.ours, text)
    theirs = written(project(), f"published_{name}.ts", text)
    imports = (("ours", f"{module_name(revision)}.ts"), ("theirs", theirs))
    lines = [f'import type * as {side} from "./{file}";' for side, file in imports]
    for type_, direction in checks:
        given, wanted = ("ours", "theirs") if direction == "to" else ("theirs", "ours")
        lines.append(
            f"export const {type_}_{direction} ="
            f" (value: {given}.{type_}): {wanted}.{type_} => value;"
        )
    return written(project(), f"compare_{name}.ts", "\n".join(lines))


def _without(difference: Difference) -> list[Difference]:
    return [one for one in DIFFERENCES if one is not difference]


def _types(text: str) -> set[str]:
    return set(re.findall(r"^export (?:interface|type) (\w+)\b(?!<)", text, re.MULTILINE))


def _line(complaint: str) -> int:
    found = re.search(r"\((\d+),", complaint)
    assert found is not None, complaint
    return int(found[1])


def test_types_are_those_of_the_specification_but_for_the_differences() -> None:
    if not REPOSITORY.exists():
        wanted = f"a clone of the specification's repository at ../shared/{REPOSITORY.name}"
        untested(wanted, "that types in TypeScript are the published ones")
    unused = set(DIFFERENCES)
    for revision in REVISIONS:
        idle = list(unused)
        excused = [DIFFERENCES, *(_without(one) for one in idle)]
        with case(revision):
            found, *without = not_assignable(revision, excused)
            assert found == []
        unused -= {one for one, missed in zip(idle, without, strict=True) if missed}
    assert unused == set()
