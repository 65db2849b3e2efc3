"""`mcp-gen diff`: compare two revisions, and say to whom each difference matters."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.base.problems import ProblemError
from mcp_protogen.cli.console import fail, show_problems
from mcp_protogen.cli.known import BaselineFile, Held, Ignore, Known, WriteBaseline
from mcp_protogen.cli.page import Output, coloured, columns, deliver
from mcp_protogen.findings.change import Reader, Severity
from mcp_protogen.findings.pages import PageFormat

if TYPE_CHECKING:
    from mcp_protogen.compare.sides import ComparedRevision
    from mcp_protogen.findings.change import Matrix


class Only(StrEnum):
    """The lowest severity of the changes that are shown."""

    BREAKING = "breaking"
    WARNING = "warning"
    INFO = "info"


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
class Asked:
    """The arguments of one comparison."""

    before: str
    after: str
    source: str | None
    as_published: bool
    reader: Reader | None
    only: Severity | None
    fail_on: Severity | None
    known: Known
    form: PageFormat
    output: Path | None


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
        Reader | None, typer.Option("--for", help="Judge changes for these authors alone.")
    ] = None,
    only: Annotated[Only | None, typer.Option(help="Leave out changes below this.")] = None,
    fail_on: Annotated[
        FailOn | None, typer.Option(help="Exit with 1 if a change is at least this.")
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
    """Compare the meaning of two revisions: methods, gates, types, members, headers.

    A file does not say which method needs which capability, and the like. These facts come from the
    other side, or from the pinned revision if the file is one; REVISION=FILE names another.
    """
    asked = Asked(
        before,
        after,
        source,
        as_published,
        reader,
        _LEAST[only] if only else None,
        _LEAST[fail_on] if fail_on else None,
        Known("change", baseline, write_baseline, tuple(ignore or ())),
        format,
        output,
    )
    try:
        failed = _show(asked)
    except ProblemError as error:
        fail(error, "diff", format)
    raise SystemExit(1 if failed else 0)


def _show(asked: Asked) -> bool:
    from mcp_protogen.compare.engine import compare_sides
    from mcp_protogen.compare.naming import named_sides
    from mcp_protogen.compare.select import reaches
    from mcp_protogen.findings.severities import severities

    asked.known.check(severities())
    names = asked.before, asked.after
    sides = named_sides(names, asked.source, as_published=asked.as_published)
    held = asked.known.held(compare_sides(*sides))
    if held.keep():
        return False
    if asked.form in (PageFormat.TEXT, PageFormat.HTML):
        show_problems(held.new.notes)
    deliver(_page(asked, held, sides), asked.form, asked.output)
    return asked.fail_on is not None and reaches(held.new, asked.reader, asked.fail_on)


def _page(asked: Asked, held: Held, sides: "tuple[ComparedRevision, ComparedRevision]") -> str:
    from mcp_protogen.compare.select import narrowed
    from mcp_protogen.findings.pages import render

    page = render(
        asked.form,
        narrowed(held.new, asked.reader, asked.only),
        _matrix(*sides) if asked.form is PageFormat.HTML else None,
        reader=asked.reader,
        colour=coloured(asked.output),
        width=columns(asked.output),
    )
    if asked.form is PageFormat.JSON and asked.known.baseline is not None:
        return json.dumps({**json.loads(page), **held.as_json()}, indent=2) + "\n"
    return held.closed(page, asked.form)


def _matrix(before: "ComparedRevision", after: "ComparedRevision") -> "Matrix":
    """Return all pinned revisions, with the two sides if these are something else."""
    from mcp_protogen.compare.matrix import matrix_of
    from mcp_protogen.compare.sides import pinned_side
    from mcp_protogen.inputs.pins import load_pins

    sides = {side.title: side for side in (before, after)}
    pinned = [sides[name] if name in sides else pinned_side(name) for name in sorted(load_pins())]
    return matrix_of([*pinned, *(side for side in sides.values() if side not in pinned)])
