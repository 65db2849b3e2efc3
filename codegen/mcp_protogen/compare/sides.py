"""One side of a comparison: everything that a revision means, read from where the user says.

A published file has no facts of its own. It takes those of the revision it is said to be, and its
patches as far as they fit.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mcp_protogen.canonical import parse_json, pretty, sha256
from mcp_protogen.compare.reading import readable, with_deprecations
from mcp_protogen.config import GivenFile, Options
from mcp_protogen.derive import methods
from mcp_protogen.derive.revision import Derived, Source, derive_revision
from mcp_protogen.derive.types import Context
from mcp_protogen.ir import RevisionIR
from mcp_protogen.problems import Problem
from mcp_protogen.resources import schema_folder
from mcp_protogen.store import facts, ledger, patches, sources
from mcp_protogen.store.pins import Pins
from mcp_protogen.store.snapshot import snapshot_of

Json = dict[str, Any]

# Warnings about what models cannot say: here nothing is made of the schema.
_NOT_OF_CONCERN = frozenset({"loosened-schema"})
# A name that is no date, as schemas have that no revision has.
_UNNAMED = "draft"


@dataclass(frozen=True, slots=True)
class Header:
    """An HTTP header of the Streamable HTTP or the older HTTP transport.

    `when` is the case it is meant for, empty where it is meant for all.
    """

    name: str
    direction: str
    level: str
    when: str
    source: str


@dataclass(frozen=True, slots=True)
class Side:
    """What one revision means; `title` is how the user calls it.

    `definitions` are those of the schema, mended and without `allOf`, with inline objects where
    they stand: paths through them are those of the wire.
    """

    title: str
    definitions: Json
    ir: RevisionIR
    headers: tuple[Header, ...]
    notes: tuple[Problem, ...] = ()


def pinned_side(revision: str) -> Side:
    """A revision as it is pinned; raises `ProblemError` for an unknown one."""
    return given_side(revision, None)


def given_side(
    revision: str, given: GivenFile | None, *, title: str = "", as_published: bool = False
) -> Side:
    """A published file that stands for `revision`, or its pinned snapshot if there is none.

    Entries of the ledger that do not fit the file are left out, and noted: a publication may have
    been mended since. So is what its facts say and it does not. `as_published` leaves out all
    patches where types are compared. Raises `ProblemError` for what is no schema of the protocol.
    """
    options = Options((revision,), {revision: given} if given else {})
    source = sources.load(revision, options)
    notes: tuple[Problem, ...] = ()
    if given is not None:
        sources.check(source)
        source, notes = _as_given(source)
    mended = patches.apply(source.schema, source.ledger, source.ledger_place)
    derived = _derived(replace(source, schema=mended, ledger=()))
    found = (one for one in derived.warnings if one.code not in _NOT_OF_CONCERN)
    compared = source.schema if as_published else mended
    definitions = readable(compared, source.facts.json_schemas, source.place)
    return Side(
        title=title or revision,
        definitions=with_deprecations(definitions, source.facts.deprecated),
        ir=derived.ir,
        headers=_headers(source.facts.document),
        notes=(*notes, *found),
    )


def _as_given(source: Source) -> tuple[Source, tuple[Problem, ...]]:
    """A source as it is read when its schema is not the pinned one."""
    if source.facts.inherited:
        notice = sources.inherited_notice(source)
        return source, (notice,) if notice else ()
    mended = ledger.mended(source.schema, source.ledger, source.ledger_place)
    # Facts that are borrowed may say something else than the schema: that is news, and no error.
    known = source.facts
    document = facts.as_shown(schema_folder(), known.document, source.schema)
    borrowed = replace(known, revision=f"{known.revision}-given", document=document)
    return replace(source, ledger=mended.entries, facts=borrowed), mended.notes


def _derived(source: Source) -> Derived:
    """The revision, without trying what senders fill in and readers tolerate on its schema.

    That takes a validator, which is slow to load, and is tried whenever a package is generated.
    """
    tried = ("leniency", "producer")
    document = {key: value for key, value in source.facts.document.items() if key not in tried}
    derived = derive_revision(replace(source, facts=replace(source.facts, document=document)))
    context = Context(source.facts, source.descriptions, source.place)
    return replace(derived, ir=replace(derived.ir, rules=methods.rules(context)))


def revision_of(given: GivenFile, pins: Pins) -> str | None:
    """The pinned revision that a file is of, but for its prose, or an earlier publication of."""
    digest = sha256(given.content)
    known = next((name for name, pin in pins.items() if pin.known(digest)), None)
    if known is not None:
        return known
    structure = sha256(pretty(snapshot_of(parse_json(given.content, given.name), given.name)))
    return next((name for name, pin in pins.items() if pin.snapshot_sha256 == structure), None)


def inherited_basis(given: GivenFile) -> str:
    """The revision whose facts a package would take that is made of a file of no pinned one."""
    return sources.load(_UNNAMED, Options((_UNNAMED,), {_UNNAMED: given})).facts.basis


def title_of(source: str) -> str:
    """What a file is called as a side: its name, without the folders."""
    return Path(source).name


def _headers(document: Json) -> tuple[Header, ...]:
    headers: Json = document.get("headers", {})
    return tuple(
        Header(name, direction, entry["level"], entry.get("when", ""), entry["source"])
        for direction in ("request", "response")
        for name, entry in sorted(headers.get(direction, {}).items())
    )
