"""`mcp-gen audit`: somebody's SDK beside a revision."""

import json
import sys
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_protogen.cli.console import colourful, fail, say, show_problems
from mcp_protogen.cli.page import columns, deliver
from mcp_protogen.compare.change import Comparison, Reader, Severity
from mcp_protogen.compare.pages import PageFormat, render
from mcp_protogen.compare.pages.workflow_commands import log_line
from mcp_protogen.compare.select import narrowed
from mcp_protogen.printable import one_line
from mcp_protogen.problems import Problem, ProblemError

if TYPE_CHECKING:
    from mcp_protogen.audit.baseline import Sorted
    from mcp_protogen.audit.engine import Audit

FORMAT = 1


class Only(StrEnum):
    """The least that a finding has to be."""

    BREAKING = "breaking"
    WARNING = "warning"
    INFO = "info"


class Written(StrEnum):
    """What an SDK leaves out of what it writes."""

    NONE = "none"
    """Members that are None; what most do."""
    UNSET = "unset"
    """Members that nobody set."""
    ALL = "all"
    """Nothing is left out."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """What is shown of the findings, and how."""

    reader: Reader | None
    only: Only | None
    form: PageFormat
    output: Path | None


def audit(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET", help="An importable module or package, or a folder of Python sources."
        ),
    ],
    revision: Annotated[
        str | None,
        typer.Option(
            metavar="REVISION",
            help="Revision to compare with; the one the target claims if left out.",
        ),
    ] = None,
    python: Annotated[
        str | None,
        typer.Option(metavar="INTERPRETER", help="Python that can import it, if not this one."),
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What stands for what, where names do not tell."),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Findings that are known: they do not fail.")
    ] = None,
    write_baseline: Annotated[
        bool, typer.Option("--write-baseline", help="Write all findings into the baseline.")
    ] = False,
    reader: Annotated[
        Reader | None, typer.Option("--for", help="Judge for this reader alone.")
    ] = None,
    only: Annotated[Only | None, typer.Option(help="Only findings that are at least this.")] = None,
    no_vectors: Annotated[
        bool, typer.Option("--no-vectors", help="Look at the types; do not try them.")
    ] = False,
    written: Annotated[
        Written, typer.Option(help="What is left out when values are written back.")
    ] = Written.NONE,
    timeout: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0.1, help="Time for the import, and each answer."),
    ] = 60.0,
    format: Annotated[PageFormat, typer.Option(help="Form of the report.")] = PageFormat.TEXT,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report here, not to stdout.")
    ] = None,
) -> None:
    """Compare an SDK with a revision: its types, methods and codes, and what it does with messages.

    The target is imported in a process of its own. Exit code 1 says that there are findings; with
    --baseline, that there are new ones.
    """
    from mcp_protogen.audit.engine import Options, audit
    from mcp_protogen.audit.target import find

    choice = _Choice(reader, only, format, output)
    options = Options(mapping, not no_vectors, written, timeout)
    try:
        if write_baseline and baseline is None:
            message = "--write-baseline says nothing without --baseline FILE"
            raise ProblemError(Problem("conflicting-options", message))
        found = audit(find(target, python), revision, options)
        if write_baseline and baseline is not None:
            _keep(found, baseline)
        else:
            _report(found, baseline, choice)
    except ProblemError as error:
        fail(error, "audit", format)


def _keep(found: "Audit", file: Path) -> None:
    from mcp_protogen.audit.baseline import write_baseline

    changes = found.comparison.changes
    write_baseline(file, found.comparison.before, changes)
    written = f"{file}: {_count(len(changes))} written"
    say(f"{one_line(found.summary)}\n{one_line(written)}\n")


def _report(found: "Audit", baseline: Path | None, choice: _Choice) -> None:
    from mcp_protogen.audit.baseline import Baseline, read_baseline, sort

    revision = found.comparison.before
    known = read_baseline(baseline, revision) if baseline else Baseline(revision, {})
    held = sort(found.comparison.changes, known)
    least = Severity(choice.only) if choice.only else None
    new = replace(found.comparison, changes=held.new)
    shown = narrowed(new, choice.reader, least)
    if choice.form is PageFormat.TEXT:
        show_problems(shown.notes)
    deliver(_rendered(found, shown, held, choice), choice.form, choice.output)
    raise SystemExit(1 if shown.changes else 0)


def _rendered(found: "Audit", shown: Comparison, held: "Sorted", choice: _Choice) -> str:
    page = render(
        choice.form,
        shown,
        reader=choice.reader,
        colour=choice.output is None and colourful(sys.stdout),
        width=columns(choice.output),
    )
    if choice.form is PageFormat.JSON:
        return _document(found, json.loads(page), held)
    if choice.form in (PageFormat.TEXT, PageFormat.GITHUB):
        return page + "".join(f"{log_line(line)}\n" for line in _closing(found, held))
    if choice.form is PageFormat.MARKDOWN:
        from mcp_protogen.compare.pages.markdown import prose

        return page + "\n" + "".join(f"- {prose(line)}\n" for line in _closing(found, held))
    return page


def _closing(found: "Audit", held: "Sorted") -> list[str]:
    lines = [f"fixed: {code}: {item}" for code, item in held.fixed]
    lines.append(found.summary)
    if held.known:
        lines.append(f"{_count(len(held.known))} known from the baseline")
    return lines


def _document(found: "Audit", comparison: Any, held: "Sorted") -> str:
    document = {
        "format": FORMAT,
        "target": found.comparison.after,
        "revision": found.comparison.before,
        "summary": found.summary,
        "matched": [asdict(row) for row in found.matched],
        "known": [{"code": change.code, "item": change.item} for change in held.known],
        "fixed": [{"code": code, "item": item} for code, item in held.fixed],
        "comparison": comparison,
    }
    return json.dumps(document, indent=2) + "\n"


def _count(number: int) -> str:
    return f"{number} finding{'' if number == 1 else 's'}"
