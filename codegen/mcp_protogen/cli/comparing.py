"""The run of `mcp-gen diff`, from options to exit code."""

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from mcp_protogen.cli.console import judge, show_problems
from mcp_protogen.cli.destination import Destination
from mcp_protogen.cli.known import BaselineOptions, BaselineResult
from mcp_protogen.pipeline.reports.change import Reader, Severity
from mcp_protogen.pipeline.reports.pages import PageFormat

if TYPE_CHECKING:
    from mcp_protogen.instep.compare.revisions import ComparedRevision
    from mcp_protogen.pipeline.reports.change import Matrix
    from mcp_protogen.servers.connect.server_target import ServerTarget


@dataclass(frozen=True, slots=True)
class DiffOptions:
    """The arguments of one comparison."""

    before: str
    after: str
    source: str | None = None
    as_published: bool = False
    reader: Reader | None = None
    only: Severity | None = None
    fail_on: Severity | None = None
    server: "ServerTarget | None" = None
    timeout: float = 30.0
    known: BaselineOptions = field(default_factory=lambda: BaselineOptions("change"))
    place: Destination = field(default_factory=lambda: Destination(PageFormat.TEXT))


def compare(options: DiffOptions) -> NoReturn:
    """Compare two revisions, show the differences, and end the process."""
    judge(lambda: _show(options), "diff", options.place.form)


def _show(options: DiffOptions) -> bool:
    from mcp_protogen.servers.clients.lock import is_client_lock

    if options.server is not None or is_client_lock(options.before):
        return _show_contracts(options)
    from mcp_protogen.instep.compare.compare_revisions import compare_revisions
    from mcp_protogen.instep.compare.naming import named_revisions
    from mcp_protogen.pipeline.reports.severities import severities

    options.known.check(severities())
    names = options.before, options.after
    revisions = named_revisions(names, options.source, as_published=options.as_published)
    result = options.known.compared(compare_revisions(*revisions))
    if result.keep():
        return False
    if options.place.form in (PageFormat.TEXT, PageFormat.HTML):
        show_problems(result.new.notes)
    options.place.deliver(_page(options, result, revisions))
    return options.fail_on is not None and result.new.reaches(options.reader, options.fail_on)


def _show_contracts(options: DiffOptions) -> bool:
    """Compare a lock of a typed client with another one, or with its server as it is now."""
    from mcp_protogen.servers.clients.run import against_server, between_locks
    from mcp_protogen.servers.clients.severities import severities

    options.known.check(severities())
    if options.server is not None:
        found = against_server(options.before, options.server, options.timeout)
    else:
        found = between_locks(options.before, options.after)
    result = options.known.compared(found)
    if result.keep():
        return False
    if options.place.form in (PageFormat.TEXT, PageFormat.HTML):
        show_problems(result.new.notes)
    page = options.place.page(result.new.narrowed(options.reader, options.only), options.reader)
    options.place.deliver(_completed(options, result, page))
    return options.fail_on is not None and result.new.reaches(options.reader, options.fail_on)


def _page(
    options: DiffOptions,
    result: BaselineResult,
    revisions: "tuple[ComparedRevision, ComparedRevision]",
) -> str:
    form = PageFormat(options.place.form)
    shown = result.new.narrowed(options.reader, options.only)
    matrix = _matrix(*revisions) if form is PageFormat.HTML else None
    return _completed(options, result, options.place.page(shown, options.reader, matrix))


def _completed(options: DiffOptions, result: BaselineResult, page: str) -> str:
    """Return a page with what the baseline knows."""
    form = PageFormat(options.place.form)
    if form is PageFormat.JSON and options.known.baseline is not None:
        return json.dumps({**json.loads(page), **result.as_json()}, indent=2) + "\n"
    return result.closed(page, form)


def _matrix(before: "ComparedRevision", after: "ComparedRevision") -> "Matrix":
    """Return all pinned revisions, with the two sides if these are something else."""
    from mcp_protogen.instep.compare.matrix import matrix_of
    from mcp_protogen.instep.compare.moved_parts import moved_part
    from mcp_protogen.instep.compare.revisions import compared_pin
    from mcp_protogen.pipeline.inputs.pins import load_pins

    revisions = {revision.title: revision for revision in (before, after)}
    pinned = [
        revisions[name] if name in revisions else compared_pin(name) for name in sorted(load_pins())
    ]
    matrix = matrix_of(
        [*pinned, *(revision for revision in revisions.values() if revision not in pinned)]
    )
    part = moved_part((before, after))
    return part.rows(matrix) if part else matrix
