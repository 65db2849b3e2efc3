"""The target `typescript` beside the published `schema.ts`: each type is assignable both ways."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import pytest
from mcp_protogen.base.names import module_name
from support.folders import ROOT
from support.generated.golden_package import read_json
from support.missing import untested
from support.peers.places import Command, run_command
from support.revisions import REVISIONS
from support.tables import case
from support.targets.typescript import complaints, project, written

pytestmark = pytest.mark.long

REPOSITORY = ROOT.parent / ".mirror" / "modelcontextprotocol+modelcontextprotocol" / "repo"
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
    if not REPOSITORY.is_dir():
        untested("a copy of the specification's repository", "types like the published ones")
    pin: Mapping[str, Any] = read_json(ROOT / "schema" / "pins.json")["revisions"][revision]
    path = pin["spec_path"].replace(".json", ".ts")
    command: Command = ["git", "-C", REPOSITORY, "show", f"{pin['spec_commit']}:{path}"]
    return run_command(command)


def not_assignable(revision: str, differences: Iterable[Difference]) -> list[str]:
    """The types that are not assignable to the published ones, or not from them."""
    text = published(revision)
    for one in differences:
        text = re.sub(one.published, one.ours, text)
    module = module_name(revision)
    theirs = written(project(), f"published_{module}.ts", text)
    ours = (project() / f"{module}.ts").read_text()
    names = sorted(_types(text) & _types(ours))
    assert len(names) > 70
    checks = [
        check
        for name in names
        for check in (
            f"export const {name}_to = (value: ours.{name}): theirs.{name} => value;",
            f"export const {name}_from = (value: theirs.{name}): ours.{name} => value;",
        )
    ]
    imports = (("ours", f"{module}.ts"), ("theirs", theirs))
    heads = [f'import type * as {name} from "./{file}";' for name, file in imports]
    program = written(project(), f"compare_{module}.ts", "\n".join([*heads, *checks]))
    found = complaints(project(), program)
    return [(heads + checks)[_line(one) - 1] for one in found if one.startswith(program)]


def _types(text: str) -> set[str]:
    return set(re.findall(r"^export (?:interface|type) (\w+)\b(?!<)", text, re.MULTILINE))


def _line(complaint: str) -> int:
    found = re.search(r"\((\d+),", complaint)
    assert found is not None, complaint
    return int(found[1])


def test_types_are_those_of_the_specification_but_for_the_differences() -> None:
    used: set[Difference] = set()
    for revision in REVISIONS:
        with case(revision):
            assert not_assignable(revision, DIFFERENCES) == []
            for one in set(DIFFERENCES) - used:
                others = [other for other in DIFFERENCES if other is not one]
                if not_assignable(revision, others):
                    used.add(one)
    assert used == set(DIFFERENCES)
