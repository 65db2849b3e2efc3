"""A whole audit: describe, match, compare, try."""

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mcp_protogen.base.problems import Level, Problem, ProblemError
from mcp_protogen.instep.audit.coverage import coverage
from mcp_protogen.instep.audit.decoders import decoders_of
from mcp_protogen.instep.audit.description import Description
from mcp_protogen.instep.audit.differences import TypeWalk
from mcp_protogen.instep.audit.expected import ExpectedTypes, load_expected
from mcp_protogen.instep.audit.fitting import AuditedSdk
from mcp_protogen.instep.audit.mapping import NO_MAPPING, read_mapping
from mcp_protogen.instep.audit.matching import How, Matching, match
from mcp_protogen.instep.audit.names import claimed_revision, fold, on_the_wire
from mcp_protogen.instep.audit.other_revisions import (
    OtherRevisions,
    extensions_of,
    methods_by_message,
)
from mcp_protogen.instep.audit.sdk import PATIENCE, Sdk, describe, find, responder
from mcp_protogen.instep.audit.severities import rate
from mcp_protogen.pipeline.inputs.named_extensions import extended_revision
from mcp_protogen.pipeline.inputs.pins import load_pins, pin_of
from mcp_protogen.pipeline.ir import ObjectIR
from mcp_protogen.pipeline.reports.change import Comparison, ReportedChange

_ABOUT_VALUES = frozenset({"loses-null", "loses-member", "adds-member", "changes-member"})
"""The findings about values, which do not depend on patches of the schema."""


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """The choices of a user: a mapping file, whether to try vectors, and how values are written.

    With an `extension`, the audit covers that, and not the revision that it extends.
    """

    extension: str = ""
    mapping: Path | None = None
    vectors: bool = True
    written: str = "none"
    timeout: float = PATIENCE


@dataclass(frozen=True, slots=True)
class MatchedType:
    """A type of the schema and its match: how that was found, or why it is left out.

    `type` is the schema's name; `target` and `how` are empty if there is no match.
    """

    type: str
    target: str = ""
    how: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Audit:
    """The findings, all matches, and a summary of these on one line."""

    comparison: Comparison
    matched: tuple[MatchedType, ...]
    summary: str
    revision: str
    extension: str = ""


def audit(sdk: Sdk, revision: str | None, options: AuditOptions | None = None) -> Audit:
    """Compare an SDK with a pinned revision, by default the one that it claims.

    Raise `ProblemError` for an SDK that cannot be imported or asked, a revision that is not
    pinned, and an unusable mapping file.
    """
    options = options or AuditOptions()
    description, wanted, matching = match_sdk(
        sdk, revision, options.extension, mapping=options.mapping, timeout=options.timeout
    )
    revision = wanted.ir.id
    audited = AuditedSdk(wanted, description, matching)
    known_extensions = () if wanted.extension else extensions_of(description, revision)
    walk = TypeWalk(audited, OtherRevisions(revision, known_extensions))
    walk.types()
    found = [*walk.findings, *coverage(walk)]
    changes: list[ReportedChange] = [rate(finding) for finding in found]
    if options.vectors:
        # Slow to import, and not always needed.
        from mcp_protogen.instep.audit.behaviour import behaviour
        from mcp_protogen.instep.audit.known import find_gaps

        reading = decoders_of(wanted, description, matching, options.written)
        choices = frozenset(name for name, e in reading.messages.items() if len(e.keys) > 1)
        known = find_gaps(found, choices, wanted)
        command = responder(sdk, description, reading)
        with _about(sdk):
            subjects = {*reading.types, *reading.messages}
            changes += behaviour(command, subjects, known, options.timeout)
    changes = [_note_patch(change, wanted) for change in changes]
    listed = _list_matches(audited, walk.by_place)
    notes = (*_notes(sdk, description), *_further(sdk, known_extensions))
    comparison = Comparison(wanted.title, description.name, tuple(changes), notes)
    return Audit(comparison, listed, _summary(listed, wanted), revision, wanted.extension)


@contextmanager
def _about(sdk: Sdk) -> Generator[None, None, None]:
    """Replace our command by the name of the SDK in problems with the responder."""
    try:
        yield
    except ProblemError as error:
        problems = (problem._replace(place=sdk.name) for problem in error.problems)
        raise ProblemError(*problems) from None


def match_sdk(
    sdk: Sdk,
    revision: str | None,
    extension: str = "",
    *,
    mapping: Path | None = None,
    timeout: float = PATIENCE,
) -> tuple[Description, ExpectedTypes, Matching]:
    """Return the description of an SDK, a revision, and the matches between them.

    An extension is in the newest revision that it extends, if none is named.
    """
    if revision is not None:
        pin_of(revision, load_pins())  # before something slow
    if extension:
        revision = extended_revision(extension, revision)
    described = describe(sdk, methods_by_message(), timeout)
    wanted = load_expected(revision or claimed_revision(described), extension)
    wire_names = _wire_names(wanted)
    types = {key: on_the_wire(type_, wire_names) for key, type_ in described.types.items()}
    description = replace(described, types=types)
    mapped = read_mapping(mapping, wanted.types, types) if mapping else NO_MAPPING
    return description, wanted, match(wanted, description, mapped)


def _wire_names(wanted: ExpectedTypes) -> Mapping[str, str]:
    objects = [type_ for type_ in wanted.ir.types if isinstance(type_, ObjectIR)]
    wires = sorted({field.wire for type_ in objects for field in type_.fields})
    return {fold(wire): wire for wire in wires}


def _note_patch(change: ReportedChange, wanted: ExpectedTypes) -> ReportedChange:
    """Return a change with a note if the schema was patched there."""
    if not wanted.is_patched(change.pointer) or change.code in _ABOUT_VALUES:
        return change
    return replace(change, before=f"{change.before} (by a patch)")


def _list_matches(audited: AuditedSdk, placed: Mapping[str, str]) -> tuple[MatchedType, ...]:
    found: list[MatchedType] = []
    names = {*audited.wanted.wire_names, *audited.matching.matches, *placed}
    for name in sorted(filter(audited.wanted.audits, names)):
        shown = audited.wanted.wire_names.get(name, name)
        match_ = audited.matching.matches.get(name)
        if match_ is not None:
            title = audited.sdk.types[match_.key].title
            found.append(MatchedType(shown, title, match_.how))
        elif name in placed:
            title = audited.sdk.types[placed[name]].title
            found.append(MatchedType(shown, title, How.PLACE))
        else:
            found.append(MatchedType(shown, reason=audited.matching.left_out.get(name, "")))
    return tuple(found)


def _summary(listed: tuple[MatchedType, ...], wanted: ExpectedTypes) -> str:
    """Return a summary such as `92 of 101 types matched: 88 by name, 4 by shape`."""
    named = {wire for name, wire in wanted.wire_names.items() if wanted.audits(name)}
    counts: Counter[Any] = Counter(row.how for row in listed if row.type in named and row.how)
    counted = ", ".join(f"{counts[how]} by {how}" for how in How if counts[how])
    return f"{counts.total()} of {len(named)} types matched{f': {counted}' if counted else ''}"


def _notes(sdk: Sdk, description: Description) -> Iterator[Problem]:
    if description.through:
        names = ", ".join(description.through)
        message = f"its messages come from {names}, whose types are audited"
        hint = f"to audit that package alone: mcp-gen audit {description.through[0]}"
        yield Problem("speaks-through", message, sdk.name, hint=hint, level=Level.WARNING)
    for skipped in description.skipped:
        message = f"{skipped.error}: its types are not audited"
        yield Problem("module-not-imported", message, skipped.module, level=Level.WARNING)


def _further(sdk: Sdk, extensions: Sequence[str]) -> Iterator[Problem]:
    for name in extensions:
        message = f"it has the extension {name}, which is audited separately"
        hint = f"audit it: --extension {name}"
        yield Problem("has-extension", message, sdk.name, hint=hint, level=Level.WARNING)


def responder_command(
    name: str, revision: str, extension: str = "", *, python: str | None = None
) -> Sequence[str]:
    """Return the command of a responder for an SDK, matched as in an audit.

    Raise `ProblemError` for an SDK that cannot be audited.
    """
    found = find(name, python)
    description, wanted, matching = match_sdk(found, revision, extension)
    return responder(found, description, decoders_of(wanted, description, matching))
