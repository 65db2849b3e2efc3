"""The sources of a revision: its schema, and the pages that people read.

The schema shows those facts that a draft finds without any other revision.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any, Final

from mcp_protogen.base import jsonpointer
from mcp_protogen.instep.drafts.facts import adapt
from mcp_protogen.instep.drafts.method_facts import SchemaFacts
from mcp_protogen.instep.vectors.making import make
from mcp_protogen.pipeline.derive.revision import (
    DerivedRevision,
    derive_revision,
    normalise_revision,
)
from mcp_protogen.pipeline.inputs import sources, translations
from mcp_protogen.pipeline.inputs.facts import Facts
from mcp_protogen.pipeline.inputs.pins import load_pins
from mcp_protogen.pipeline.ir import RevisionIR
from mcp_protogen.pipeline.plans.tables import find_unsettled, pair_tables
from support.json_types import read_json
from support.report.schema_files import SCHEMA, facts_in, sources_in

Json = dict[str, Any]

REVISIONS: Final = tuple(load_pins(SCHEMA))

LAYERS: Final[Mapping[str, tuple[str, ...]]] = {
    "method table": ("methods",),
    "capabilities": ("capabilities",),
    "capability gates": ("requires",),
    "error codes": ("errors",),
    "errors of single methods": ("method errors",),
    "keys of `_meta`": ("meta_keys",),
    "lifecycle and rules of messages": ("lifecycle", "rules"),
    "order of unions and enumerations": ("unions", "enums"),
    "open types and strings, content blocks, deprecation": (
        "types",
        "open_strings",
        "content_blocks",
    ),
    "duties of senders, leniency of receivers": ("producer", "leniency"),
    "HTTP headers": ("headers",),
}
"""The layers that facts describe, with their sections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """How many values the facts of a revision have in a section, and their sources."""

    values: int = 0
    shown: int = 0
    """Values that the schema shows as well."""


@cache
def derive_pinned(revision: str) -> DerivedRevision:
    return derive_revision(sources.load_pinned(revision, SCHEMA))


def knowledge(revision: str) -> Mapping[str, Knowledge]:
    """Count the values of the facts of a revision, by section."""
    source = sources.load_pinned(revision, SCHEMA)
    nothing = replace(source, facts=Facts(revision, {}, ""))
    skeleton, _ = normalise_revision(nothing)
    drafted = dict(facts_in(adapt({}, SchemaFacts(revision, skeleton, source.schema))))
    values: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    for pointer, value in facts_in(source.facts.document):
        section = _section(pointer)
        values[section] += 1
        shown[section] += pointer in drafted and drafted[pointer] == value
    return {name: Knowledge(values=values[name], shown=shown[name]) for name in values}


def own_values(revision: str) -> int:
    """Count the values that a revision states itself instead of inheriting."""
    return sum(1 for _ in facts_in(read_json(SCHEMA / revision / "facts.json")))


def pages(revision: str) -> Counter[str]:
    """Count how often each page is the source of a revision's own values."""
    found: Counter[str] = Counter()
    for name in ("facts", "patches", "translation"):
        file = SCHEMA / revision / f"{name}.json"
        if file.is_file():
            found.update(page.partition("#")[0] for page in sources_in(read_json(file)))
    return found


def _section(pointer: str) -> str:
    path = jsonpointer.split(pointer)
    if path[0] == "methods" and "requires" in path:
        return "requires"
    return "method errors" if path[0] == "methods" and "errors" in path else path[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The outcome of the differences between a revision and the one before."""

    older: str
    plans: int
    """Types that are written anew in one direction or both."""
    undecided: int
    """Places where the types alone do not say what a value becomes."""
    rules: int
    """Entries that decide these places, with a reason and a page."""


def steps() -> Iterator[tuple[str, Step]]:
    for older, newer in pairwise(REVISIONS):
        known = translations.load(SCHEMA, newer)
        assert known is not None
        first, second = derive_pinned(older).ir, derive_pinned(newer).ir
        tables = pair_tables(first, second, known)
        file = read_json(SCHEMA / newer / "translation.json")
        yield newer, Step(
            older=older,
            plans=len({*tables.up.plans, *tables.down.plans}),
            undecided=len(find_unsettled(first, second, replace(known, actions=()))),
            rules=len(file["rules"]) + len(file["errors"]),
        )


def vectors(revision: str) -> tuple[int, int]:
    made = make(revision).vectors
    valid = sum(vector.valid for vector in made)
    return valid, len(made) - valid


def patches(revision: str) -> int:
    """Count the corrections of a published file."""
    return len(read_json(SCHEMA / revision / "patches.json")["patches"])


def stubs(ir: RevisionIR) -> int:
    """Count the handlers and calls of both roles; embedded requests have only handlers."""
    return sum(
        len(method.senders) * (1 if method.kind == "embedded" else 2) for method in ir.methods
    )
