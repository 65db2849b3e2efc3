"""The reports about pinned schemas: which ones there are, and the drafts of their decisions."""

from pathlib import Path
from typing import Any

from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.drafts import drafting
from mcp_protogen.instep.drafts.drafting import Draft
from mcp_protogen.instep.update.adoption import Origin, add
from mcp_protogen.pipeline.inputs.pinned_extensions import (
    PinnedExtension,
    absorbing_revision,
    pinned_extensions,
)
from mcp_protogen.pipeline.inputs.pins import EXTENSION, REVISION, Pin, extensions_folder, load_pins
from mcp_protogen.pipeline.reports.report import Action, FileChange, RunReport, RunStatus


def write(revision: str, folder: Path | None = None) -> RunReport:
    """Write the draft of a revision into a schema folder, all files or none."""
    return _report(drafting.write(revision, folder or schema_folder()), revision, RunStatus.FINE)


def check(revision: str, folder: Path | None = None) -> RunReport:
    """Return a report of missing drafts and open decisions."""
    made = drafting.draft(revision, folder or schema_folder())
    problems = (*made.contradictions, *made.undecided)
    report = _report(
        made, revision, RunStatus.DIFFERS if made.changed or problems else RunStatus.FINE
    )
    return report._replace(problems=problems)


def _report(made: Draft, revision: str, status: RunStatus) -> RunReport:
    left = len(made.undecided)
    said = f"{left} left to decide" if left else "nothing is left to decide"
    if made.contradictions:
        said += ", but see the warnings"
    return RunReport(
        "schema draft-facts",
        status,
        f"{revision}: {said}",
        files=tuple(
            FileChange(path, Action.CHANGE if made.before.get(path) else Action.CREATE)
            for path in made.changed
        ),
        revisions=({"revision": revision, "undecided": left},),
        problems=made.contradictions,
    )


def catalogue() -> RunReport:
    """Return every pinned revision with the publication it stands for."""
    pins = load_pins()
    rows = tuple(_row(revision, pin) for revision, pin in pins.items())
    lines = [f"{r['revision']:<12} {r['sha256'][:12]}  {r['published'] or '':<10}" for r in rows]
    heading = f"{'revision':<12} {'sha256':<12}  published"
    return RunReport(
        "revisions", RunStatus.FINE, (heading, *map(str.rstrip, lines)), revisions=rows
    )


def pin(
    revision: str | None, extension: str | None, source: str, origin: Origin, folder: Path | None
) -> RunReport:
    """Pin a revision, or an extension if one is named, to the published schema in `source`."""
    from mcp_protogen.pipeline.sources.upstream import read_source, source_name

    content, place = read_source(source), source_name(source)
    if extension is None:
        name, kind = revision or "", REVISION
    else:
        name, kind, folder = extension, EXTENSION, extensions_folder(folder)
    published = add(name, content, origin, place, folder, kind).published
    row = {kind.noun: name, "sha256": published.sha256, "changed": list(published.changed)}
    summary = f"{name} is pinned to {published.sha256[:12]}"
    if extension is None:
        return RunReport("schema add", RunStatus.FINE, summary, revisions=(row,))
    return RunReport("schema add", RunStatus.FINE, summary, extensions=(row,))


def extensions() -> RunReport:
    """Return every pinned extension: its stage, its identifier, and the revisions that it extends.

    One without a published schema has no digest and no publication.
    """
    rows = tuple(_extension_row(extension) for extension in pinned_extensions())
    lines = [
        f"{r['extension']:<12} {r.get('sha256', 'unpublished')[:12]:<12}  "
        f"{r.get('published') or '':<10}  {_stage_text(r):<12} "
        f" {r['identifier'] or 'no facts':<35}  {', '.join(r['extends'])}"
        for r in rows
    ]
    heading = f"{'extension':<12} {'sha256':<12}  {'published':<10}  {'stage':<12}"
    heading += f"  {'identifier':<35}  extends"
    said = (heading, *map(str.rstrip, lines)) if rows else ("no extension is pinned",)
    return RunReport("extensions", RunStatus.FINE, said, extensions=rows)


def _extension_row(extension: PinnedExtension) -> dict[str, Any]:
    row = _row(extension.name, extension.pin) if extension.pin else {}
    row.pop("revision", None)
    identifier, extends = extension.identifier or None, list(extension.revisions)
    life_cycle = {"stage": extension.stage or None, "core_from": absorbing_revision(extension.name)}
    named = {"extension": extension.name, "identifier": identifier, "extends": extends}
    return {**named, **life_cycle, **row}


def _stage_text(row: dict[str, Any]) -> str:
    core = row["core_from"] and f"core from {row['core_from']}"
    return ", ".join(filter(None, (row["stage"], core))) or "not stated"


def _row(revision: str, pin: Pin) -> dict[str, Any]:
    return {
        "revision": revision,
        "sha256": pin.published.sha256,
        "published": pin.published.date,
        "earlier_publications": len(pin.history),
        "repository": pin.repository,
        "spec_path": pin.spec_path,
        "spec_commit": pin.published.spec_commit,
    }
