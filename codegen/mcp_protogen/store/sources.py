"""What one revision is generated from, read and checked: pinned, or handed over by the user."""

from typing import Any

from mcp_protogen.canonical import parse_json
from mcp_protogen.config import GivenFile, Options
from mcp_protogen.derive.revision import Source
from mcp_protogen.ir import Era
from mcp_protogen.problems import Level, Problem
from mcp_protogen.resources import schema_folder
from mcp_protogen.store import descriptions, facts, metacheck, patches
from mcp_protogen.store.pins import read_snapshot
from mcp_protogen.store.snapshot import snapshot_of

Json = dict[str, Any]


def load(revision: str, options: Options) -> Source:
    """The inputs of `revision`; raises `ProblemError` for what cannot be one."""
    folder = schema_folder()
    given = options.schemas.get(revision)
    if given is None:
        place = f"schema/{revision}/schema.json"
        schema: Json = parse_json(read_snapshot(revision, folder), place)
        own: dict[str, str] = {}
    else:
        place, schema, own = _given(given)
    merged = facts.holding(folder, revision)
    return Source(
        schema=schema,
        ledger=patches.ledger_of(folder, revision),
        facts=merged,
        descriptions=descriptions.load(folder / "descriptions.json", revision, own),
        place=place,
        ledger_place=f"schema/{revision}/patches.json",
        facts_place=f"schema/{merged.basis}/facts.json",
    )


def check(source: Source) -> None:
    """Raise `ProblemError` unless the schema of `source` is one."""
    metacheck.check(source.schema, source.place)


def _given(given: GivenFile) -> tuple[str, Json, dict[str, str]]:
    published = parse_json(given.content, given.name)
    structure = snapshot_of(published, given.name)
    return given.name, structure, descriptions.extract(published)


def era(revision: str) -> Era:
    """Whether sessions of `revision` open with a handshake."""
    stated: Era = facts.holding(schema_folder(), revision).document["lifecycle"]["era"]
    return stated


def inherited_notice(source: Source) -> Problem | None:
    """A warning for a revision that has no facts of its own."""
    if not source.facts.inherited:
        return None
    return Problem(
        "derived-facts",
        f"{source.facts.revision} has no facts: gates and codes are those of {source.facts.basis}",
        source.place,
        hint="read the warnings below, then write a facts.json that inherits from it",
        level=Level.WARNING,
    )
