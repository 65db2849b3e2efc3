"""The cost of a revision: drafts of its files as if it were new, against the real files."""

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import compact
from mcp_protogen.instep.drafts.drafting import Draft, draft
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.inputs import sources
from mcp_protogen.pipeline.ir import ObjectIR, RevisionIR
from support.json_types import read_json
from support.report.schema_files import SCHEMA, facts_in

Json = dict[str, Any]

FILES: Final = ("facts.json", "patches.json", "translation.json", "descriptions.json")
"""The files in which people decide about a revision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The decisions that a draft leaves to people, and how its facts fared."""

    older: str
    decisions: Mapping[str, int]
    """What it leaves open, by file."""
    drafted: int
    """Single values in its facts."""
    changed: int
    """How many of these were decided otherwise."""
    added: int
    """Values that the decided facts have besides."""


def cost(revision: str, older: str) -> Cost:
    """Draft a revision as if it were new, and compare the draft with the decisions."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "schema"
        as_before(revision, folder)
        made = draft(revision, folder)
    return compare_draft(older, made, revision, read_json(SCHEMA / revision / "facts.json"))


def compare_draft(older: str, made: Draft, revision: str, decided: Json) -> Cost:
    drafted = dict(facts_in(made.after[f"{revision}/facts.json"]))
    known = dict(facts_in(decided))
    kept = sum(at in known and known[at] == value for at, value in drafted.items())
    return Cost(
        older=older,
        decisions=decisions(made),
        drafted=len(drafted),
        changed=len(drafted) - kept,
        added=len(known.keys() - drafted.keys()),
    )


def decisions(made: Draft) -> Mapping[str, int]:
    """Count what a draft leaves open, by file.

    A rule of translation is one decision, with its reason and its page.
    """
    found = {
        (name, *jsonpointer.split(decision.pointer)[: 2 if name == "translation.json" else None])
        for decision in made.undecided
        for name in [Path(decision.place).name]
    }
    counted = Counter(name for name, *_ in found)
    return {name: counted[name] for name in FILES}


def as_before(revision: str, folder: Path) -> None:
    """Make a schema folder in which a revision has only its schema."""
    shutil.copytree(SCHEMA, folder)
    pins = read_json(folder / "pins.json")
    for name in [name for name in pins["revisions"] if name > revision]:
        del pins["revisions"][name]
        shutil.rmtree(folder / name)
    _write(folder / "pins.json", pins)
    shutil.rmtree(folder / "extensions")
    for name in ("facts.json", "patches.json", "translation.json"):
        (folder / revision / name).unlink(missing_ok=True)
    older = [name for name in pins["revisions"] if name < revision]
    for name in older:
        facts = read_json(folder / name / "facts.json")
        for method in filter(None, facts.get("methods", {}).values()):
            if method.get("removed", "") >= revision:
                del method["removed"]
        _write(folder / name / "facts.json", facts)
    _forget_texts(folder, older)


def _forget_texts(folder: Path, kept: list[str]) -> None:
    """Drop the descriptions that earlier revisions do not use."""
    used = {
        key
        for name in kept
        for key in _describe_ir(derive_revision(sources.load_pinned(name, folder)).ir)
    }
    texts = read_json(folder / "descriptions.json")
    for kind in texts.keys() - {"overrides"}:
        texts[kind] = {key: text for key, text in texts[kind].items() if (kind, key) in used}
    texts["overrides"] = {
        name: override for name, override in texts["overrides"].items() if name in kept
    }
    _write(folder / "descriptions.json", texts)


def _describe_ir(ir: RevisionIR) -> Iterator[tuple[str, str]]:
    for type_ in ir.types:
        yield "types", type_.name
        for member in type_.fields if isinstance(type_, ObjectIR) else ():
            yield "fields", f"{type_.name}.{member.wire}"
            yield "fields", f"*.{member.wire}"
    yield from (("methods", method.method) for method in ir.methods)
    yield from (
        ("capabilities", ".".join((capability.role, *capability.path)))
        for capability in ir.capabilities
    )
    yield from (("errors", error.name) for error in ir.errors)


def _write(file: Path, content: Json) -> None:
    file.write_bytes(compact(content))
