"""A maintainer's work for a proposal, done by a program on a copy of this checkout.

Entries that only need a page, a reason or a text are filled in; of the choices for a translation,
the first is taken. Both are counted.
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import compact
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Problem
from mcp_protogen.instep.drafts.drafting import draft
from mcp_protogen.pipeline.inputs.wires import FILE
from support.generated.next_revision import NEXT, Checkout
from support.json_types import read_json
from support.rehearsals.proposals import Rehearsal, publish_extension

Json = dict[str, Any]

_REASON = "The proposal says so."
_MODULES = Path(__file__).with_name("transports")
_TRANSPORTS = Path("codegen", "mcp_protogen", "runtime", "transports")
_ROUNDS = 5
"""A decision may answer others, or raise new ones."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """How many decisions the draft of a proposal left, and how many needed no judgement."""

    all: int
    mechanical: int


def pin(checkout: Checkout, rehearsal: Rehearsal) -> None:
    """Pin a proposal as the next revision, with its facts, rules and transports."""
    schema = checkout.schema
    for name in rehearsal.collect("modules"):
        shutil.copy2(_MODULES / f"{name}.py", checkout.folder / _TRANSPORTS)
    base = read_json(schema / rehearsal.base / "schema.json")
    published, wires = rehearsal.split(rehearsal.publish(base))
    _add(checkout, published, NEXT)
    if wires is not None:
        (schema / NEXT / FILE).write_bytes(compact(wires))
    for name, change in rehearsal.extensions().items():
        _pin_extension(checkout, name, change)
    (schema / NEXT / "facts.json").write_bytes(compact(rehearsal.facts()))
    if rules := rehearsal.translation():
        (schema / NEXT / "translation.json").write_bytes(compact(rules))


def _pin_extension(checkout: Checkout, name: str, change: Json) -> None:
    """Pin an extension of the next revision, too, by its former schema and facts if it has some."""
    folder = checkout.schema / "extensions" / name
    schema, facts = publish_extension(folder, change)
    _add(checkout, schema, "--extension", name)
    facts["revisions"].append(NEXT)
    (folder / "facts.json").write_bytes(compact(facts))
    if rules := change.get("translation"):
        (folder / "translation.json").write_bytes(compact(rules))


def _add(checkout: Checkout, schema: Json, *name: str) -> None:
    published = checkout.folder / "published.json"
    published.write_text(json.dumps(schema))
    checkout.run("-m", "mcp_protogen", "schema", "add", *name, "--from", str(published))
    published.unlink()


def decide(checkout: Checkout, rehearsal: Rehearsal) -> Decisions:
    """Draft the files of the next revision, and decide whatever the draft leaves open."""
    undecided = _draft(checkout)
    found = _count(undecided, checkout)
    for _ in range(_ROUNDS):
        if not undecided:
            assert not draft(NEXT, checkout.schema).contradictions
            return found
        for problem in undecided:
            _fill_in(checkout.folder / problem.place, problem.pointer, rehearsal.page)
        undecided = _draft(checkout)
    raise AssertionError(f"{undecided[0].place}#{undecided[0].pointer}: {undecided[0].message}")


def _draft(checkout: Checkout) -> tuple[Problem, ...]:
    checkout.run("-m", "mcp_protogen", "schema", "draft-facts", NEXT)
    return draft(NEXT, checkout.schema).undecided


def _count(undecided: tuple[Problem, ...], checkout: Checkout) -> Decisions:
    entries = {_entry(problem) for problem in undecided}
    judged = {_entry(problem) for problem in undecided if _choices(problem, checkout.folder)}
    return Decisions(len(entries), len(entries - judged))


def _entry(problem: Problem) -> tuple[str, ...]:
    """Return the entry that a decision belongs to: a rule has a reason and a page."""
    steps = jsonpointer.split(problem.pointer)
    return (problem.place, *(steps[:2] if "translation" in problem.place else steps))


def _choices(problem: Problem, folder: Path) -> list[Any]:
    if "translation" not in problem.place:
        return []
    value: Any = jsonpointer.get(read_json(folder / problem.place), problem.pointer)
    return value["choices"] if is_object(value) else []


def _fill_in(file: Path, pointer: str, page: str) -> None:
    document = read_json(file)
    *way, last = jsonpointer.split(pointer)
    around: Any = jsonpointer.get(document, jsonpointer.join(*way))
    key = int(last) if last.isdigit() else last
    if file.name == "descriptions.json":
        around[key] = f"{last}, as a proposal has it."
    elif is_object(choice := around[key]):
        around[key] = choice["choices"][0]
    else:
        around[key] = {"source": page, "reason": _REASON, "state": "dropped"}[last]
    file.write_bytes(compact(document))


def changed_files(checkout: Checkout, before: dict[str, bytes]) -> Iterator[str]:
    """Yield the files of the schema folder that are new or differ."""
    for path, content in contents(checkout).items():
        if before.get(path) != content:
            yield path


def contents(checkout: Checkout) -> dict[str, bytes]:
    files = (path for path in checkout.schema.rglob("*") if path.is_file())
    return {str(path.relative_to(checkout.schema)): path.read_bytes() for path in files}
