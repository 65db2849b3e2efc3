"""One side of a comparison: the whole meaning of a revision, read from a pin or a file.

A published file has no facts. It takes the facts of the revision it stands for, and those of its
patches that fit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mcp_protogen.base.canonical import pretty, sha256
from mcp_protogen.base.problems import Problem
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.compare.plain_schemas import reword
from mcp_protogen.instep.compare.readable_schema import readable, with_deprecations
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.derive import methods
from mcp_protogen.pipeline.derive.revision import DerivedRevision, derive_revision
from mcp_protogen.pipeline.derive.types import Context
from mcp_protogen.pipeline.inputs import facts, patch_fit, sources
from mcp_protogen.pipeline.inputs.pins import Pins
from mcp_protogen.pipeline.inputs.snapshot import structure_in
from mcp_protogen.pipeline.inputs.sources import RevisionSource
from mcp_protogen.pipeline.ir import RevisionIR

Json = dict[str, Any]

# Warnings about what models cannot express: here, no models are made of the schema.
_NOT_OF_CONCERN = frozenset({"loosened-schema"})
# A name that is not a date, as for a schema of no published revision.
_UNNAMED = "draft"


@dataclass(frozen=True, slots=True)
class Header:
    """An HTTP header of the Streamable HTTP or the older HTTP transport.

    `when` is the case it applies to; empty if it always applies. If that is a kind of `message`,
    each peer sends it; other cases may never come up. `repeats` is the part of every message that
    it repeats, with the policy of receivers.
    """

    name: str
    direction: str
    level: str
    when: str
    source: str
    message: bool = False
    repeats: str = ""


@dataclass(frozen=True, slots=True)
class ExtensionPart:
    """The methods and types that an extension adds to a revision.

    `identifier` is what both sides declare; `stage` is empty if its facts lack it.
    """

    name: str
    identifier: str
    revision: str
    methods: frozenset[str]
    types: frozenset[str]
    stage: str = ""


@dataclass(frozen=True, slots=True)
class ComparedRevision:
    """The meaning of one revision; `title` is the name that the user gave it.

    With an `extension`, it stands for that. `definitions` are those of the patched schema, without
    `allOf` and with inline objects in their places: paths through them are those of the wire.
    `open_types` take undeclared members by intent. `facts` are as their files have them.
    """

    title: str
    definitions: Json
    ir: RevisionIR
    headers: tuple[Header, ...]
    notes: tuple[Problem, ...] = ()
    open_types: frozenset[str] = frozenset()
    facts: Json = field(default_factory=dict[str, Any])
    extension: ExtensionPart | None = None


def compared_pin(revision: str) -> ComparedRevision:
    """Return a pinned revision; raise `ProblemError` for an unknown one."""
    return compared_file(revision, None)


def compared_file(
    revision: str, given: GivenFile | None, *, title: str = "", as_published: bool = False
) -> ComparedRevision:
    """Return a published file as `revision`; without a file, the pinned snapshot.

    Patches that do not fit the file are left out and noted, because it may have been corrected
    since. So are facts that the file contradicts. `as_published` leaves out all patches from the
    comparison of types. Raise `ProblemError` for a file that is not a schema of the protocol.
    """
    options = GenerationOptions((revision,), {revision: given} if given else {})
    source = sources.load(revision, options)
    notes: tuple[Problem, ...] = ()
    if given is not None:
        source, notes = as_given(source)
    return compared_as(source, notes, title=title or revision, as_published=as_published)


def compared_as(
    source: RevisionSource,
    notes: tuple[Problem, ...] = (),
    *,
    title: str,
    as_published: bool = False,
) -> ComparedRevision:
    """Return a source as one side."""
    mended = source.apply_patches()
    derived = derive_revision(without_tried_facts(replace(source, schema=mended, patches=())))
    compared = source.schema if as_published else mended
    return compared_source(source, derived, compared, title=title, notes=notes)


def compared_source(
    source: RevisionSource,
    derived: DerivedRevision,
    schema: Json,
    *,
    title: str,
    notes: tuple[Problem, ...] = (),
) -> ComparedRevision:
    """Return one side from a source without tried facts; the types are those of `schema`."""
    found = (warning for warning in derived.warnings if warning.code not in _NOT_OF_CONCERN)
    definitions = readable(schema, source.facts.json_schemas, source.place)
    rules = methods.rules(Context(source.facts, source.descriptions, source.place))
    return ComparedRevision(
        title=title,
        definitions=with_deprecations(definitions, source.facts.deprecated),
        ir=replace(derived.ir, rules=rules),
        headers=headers_of(source.facts.document),
        notes=(*notes, *found),
        open_types=source.facts.open_types,
        facts=source.facts.document,
    )


def as_given(source: RevisionSource) -> tuple[RevisionSource, tuple[Problem, ...]]:
    """Return a source adapted to a schema other than the pinned one, with notes."""
    if source.facts.origin != source.facts.revision:
        return source, tuple(sources.inherited_notice(source))
    # Patches and methods are found by the words of the pinned schema.
    pinned = sources.load_pinned(source.facts.revision, schema_folder())
    schema = reword(source.schema, pinned.schema)
    mended = patch_fit.apply_fitting(schema, pinned.patches, pinned.patches_place)
    # Borrowed facts may contradict the schema: that is a difference, not an error.
    stated = source.facts
    document = facts.as_shown(schema_folder(), stated.document, schema)
    borrowed = replace(stated, revision=f"{stated.revision}-given", document=document)
    adapted = replace(source, schema=schema, patches=mended.entries, facts=borrowed, notes=())
    return adapted, mended.notes


def without_tried_facts(source: RevisionSource) -> RevisionSource:
    """Return a source without facts for senders and readers, which are tried on its schema.

    That needs a validator, which is slow to load, and is done whenever a package is generated.
    """
    tried = ("leniency", "producer")
    document = {key: value for key, value in source.facts.document.items() if key not in tried}
    return replace(source, facts=replace(source.facts, document=document))


def has_messages(given: GivenFile) -> bool:
    """Return whether a file defines the messages of clients, as schemas of revisions do."""
    schema = structure_in(given.content, given.name)
    return "ClientRequest" in schema.get("$defs", {})


def published_as(given: GivenFile, pins: Pins) -> str | None:
    """Return the pinned revision or extension that a file is a publication of, or None.

    The file may be an earlier publication, or differ from the pinned one in its prose only.
    """
    digest = sha256(given.content)
    known = next((name for name, pin in pins.items() if pin.find_publication(digest)), None)
    if known is not None:
        return known
    structure = sha256(pretty(structure_in(given.content, given.name)))
    return next((name for name, pin in pins.items() if pin.snapshot_sha256 == structure), None)


def facts_origin(given: GivenFile) -> str:
    """Return the revision whose facts a package from an unpinned file would have."""
    return sources.load(_UNNAMED, GenerationOptions((_UNNAMED,), {_UNNAMED: given})).facts.origin


_SITUATIONS: Mapping[str, str] = {
    "failed": "the status is that of an error, with the value {value}",
    "in_session": "the server has given one",
    "refused": "access is refused",
    "restricted": "access is restricted",
    "resuming": "a broken stream is resumed",
}
_PARTS: Mapping[str, str] = {
    "meta": "_meta has {}",
    "marked": "the schema of the tool marks arguments by {}",
}


def headers_of(document: Json) -> tuple[Header, ...]:
    """Return the headers of requests, then those of responses, in merged facts."""
    headers: Json = document.get("headers", {})
    return tuple(
        _header(name, direction, entry, document.get("methods", {}))
        for direction in ("request", "response")
        for name, entry in sorted(headers.get(direction, {}).items())
    )


def _header(name: str, direction: str, entry: Json, methods: Mapping[str, Json]) -> Header:
    repeats: Json = entry.get("repeats", {})
    policy = repeats.get("policy", "")
    parts = [
        f"{text.format(repeats[kind])} ({policy})"
        for kind, text in _PARTS.items()
        if kind in repeats
    ]
    in_methods = [
        f"{method} ({repeated['member']}, {repeated['policy']})"
        for method, fact in sorted(methods.items() if direction == "request" else ())
        for repeated in [(fact.get("headers") or Json()).get(name)]
        if repeated is not None
    ]
    if in_methods:
        parts.append(f"the method is {' or '.join(in_methods)}")
    when = " or ".join(parts) or _SITUATIONS.get(entry.get("when") or "", "").format_map(entry)
    whole = f"{repeats['member']} ({policy})" if "member" in repeats else ""
    return Header(name, direction, entry["level"], when, entry["source"], bool(parts), whole)
