"""`mcp-gen diff`: compare two revisions, and say to whom each difference matters."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.base.problems import ProblemError
from mcp_protogen.cli.console import fail, show_problems
from mcp_protogen.cli.known import (
    BaselineFile,
    BaselineOptions,
    BaselineResult,
    Ignore,
    WriteBaseline,
)
from mcp_protogen.cli.options import Destination, LeastSeverity, Output
from mcp_protogen.findings.change import Reader, Severity
from mcp_protogen.findings.pages import PageFormat

if TYPE_CHECKING:
    from mcp_protogen.compare.revisions import ComparedRevision
    from mcp_protogen.findings.change import Matrix


class FailOn(StrEnum):
    """The lowest severity at which a change makes the command fail."""

    BREAKING = "breaking"
    WARNING = "warning"
    ANY = "any"


_LEAST: Mapping[str, Severity] = {
    "breaking": Severity.BREAKING,
    "warning": Severity.WARNING,
    "info": Severity.INFO,
    "any": Severity.INFO,
}


@dataclass(frozen=True, slots=True)
class DiffOptions:
    """The arguments of one comparison."""

    before: str
    after: str
    source: str | None
    as_published: bool
    reader: Reader | None
    only: Severity | None
    fail_on: Severity | None
    known: BaselineOptions
    place: Destination


def diff(
    before: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="A revision, an earlier publication of one (REVISION@DIGEST), a file or a URL.",
        ),
    ],
    after: Annotated[str, typer.Argument(metavar="B", help="What to compare it with.")],
    reader: Annotated[
        Reader | None, typer.Option("--for", help="Show the severities for these authors.")
    ] = None,
    only: Annotated[
        LeastSeverity | None, typer.Option(help="Leave out less severe changes.")
    ] = None,
    fail_on: Annotated[
        FailOn | None, typer.Option(help="Exit with 1 if a change is at least this severe.")
    ] = None,
    baseline: BaselineFile = None,
    write_baseline: WriteBaseline = False,
    ignore: Ignore = None,
    as_published: Annotated[
        bool, typer.Option("--as-published", help="Compare the types without our patches.")
    ] = False,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="CLONE|FOLDER|URL",
            help="The specification's repository, where earlier publications are.",
        ),
    ] = None,
    format: Annotated[PageFormat, typer.Option(help="Form of the report.")] = PageFormat.TEXT,
    output: Output = None,
) -> None:
    """Compare what two revisions mean: methods, required capabilities, types, members, headers.

    A file does not say which method needs which capability, and the like. These facts come from the
    other side, or from the pinned revision if the file is one; REVISION=FILE names another.
    """
    options = DiffOptions(
        before,
        after,
        source,
        as_published,
        reader,
        _LEAST[only] if only else None,
        _LEAST[fail_on] if fail_on else None,
        BaselineOptions("change", baseline, write_baseline, tuple(ignore or ())),
        Destination(format, output),
    )
    try:
        failed = _show(options)
    except ProblemError as error:
        fail(error, "diff", format)
    raise SystemExit(1 if failed else 0)


def _show(options: DiffOptions) -> bool:
    from mcp_protogen.compare.engine import compare_revisions
    from mcp_protogen.compare.naming import named_revisions
    from mcp_protogen.findings.severities import severities

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


def _page(
    options: DiffOptions,
    result: BaselineResult,
    revisions: "tuple[ComparedRevision, ComparedRevision]",
) -> str:
    form = PageFormat(options.place.form)
    shown = result.new.narrowed(options.reader, options.only)
    matrix = _matrix(*revisions) if form is PageFormat.HTML else None
    page = options.place.page(shown, options.reader, matrix)
    if form is PageFormat.JSON and options.known.baseline is not None:
        return json.dumps({**json.loads(page), **result.as_json()}, indent=2) + "\n"
    return result.closed(page, form)


def _matrix(before: "ComparedRevision", after: "ComparedRevision") -> "Matrix":
    """Return all pinned revisions, with the two sides if these are something else."""
    from mcp_protogen.compare.matrix import matrix_of
    from mcp_protogen.compare.revisions import compared_pin
    from mcp_protogen.inputs.pins import load_pins

    revisions = {revision.title: revision for revision in (before, after)}
    pinned = [
        revisions[name] if name in revisions else compared_pin(name) for name in sorted(load_pins())
    ]
    return matrix_of(
        [*pinned, *(revision for revision in revisions.values() if revision not in pinned)]
    )
