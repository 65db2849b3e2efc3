"""`mcp-gen vectors`: write test vectors, and test an implementation with them."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mcp_protogen.base.option_constraints import OptionConstraint, conflict, refuse_conflicts
from mcp_protogen.cli import completion
from mcp_protogen.cli.destination import Destination
from mcp_protogen.cli.options import Output, RevisionWords, Schema
from mcp_protogen.cli.outcome import finish, show
from mcp_protogen.instep.vectors.vector import Validity, VectorFilter
from mcp_protogen.pipeline.config import Format


class VectorsFormat(StrEnum):
    """The formats of vectors, of a report about a folder, and of findings."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    MARKDOWN = "markdown"
    GITHUB = "github"
    HTML = "html"


_FORMATS = {
    "vectors on stdout": (VectorsFormat.JSON, VectorsFormat.JSONL),
    "a folder": (VectorsFormat.TEXT, VectorsFormat.JSON, VectorsFormat.GITHUB),
    "findings": tuple(format for format in VectorsFormat if format is not VectorsFormat.JSONL),
}
"""The formats of each kind of output; the first is the default."""


def vectors(
    words: RevisionWords = None,
    revision: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REVISION",
            help="Revision to write vectors for, or all. Repeat it, or separate names by commas.",
            autocompletion=completion.revision,
        ),
    ] = None,
    extension: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=FILE|URL]",
            help="Extension to write vectors for, or all, in the named revisions that it extends;"
            " default: in all of them. Repeat it for others.",
            autocompletion=completion.extension,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a file for each revision into this folder."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; say whether the folder is up to date.")
    ] = False,
    run: Annotated[
        str | None, typer.Option(metavar="SDK", help="Test a Python package, module or folder.")
    ] = None,
    run_command: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND", help="Test a program in any language that answers on stdout."
        ),
    ] = None,
    python: Annotated[
        str | None,
        typer.Option(metavar="INTERPRETER", help="Python to run SDK with, if not this one."),
    ] = None,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.01, help="Time for each answer.")
    ] = 10.0,
    type: Annotated[
        list[str] | None, typer.Option(metavar="TYPE", help="Only vectors of this definition.")
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(metavar="METHOD", help="Only messages of this method.")
    ] = None,
    only: Annotated[
        Validity | None, typer.Option(help="Only valid or only invalid vectors.")
    ] = None,
    schema: Schema = None,
    format: Annotated[
        VectorsFormat | None,
        typer.Option(help="Format of the vectors, of the report, or of the findings."),
    ] = None,
    output: Output = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that are not vectors.")
    ] = False,
) -> None:
    """Write test vectors, or test an implementation with them.

    Vectors are valid and invalid messages with reasons. They go to stdout, or into a folder with
    --out. --run and --run-command test an implementation with them; exit code 1 means that it
    failed one.
    """
    from mcp_protogen.instep.audit.trial import TriedProgram, trial_page
    from mcp_protogen.instep.vectors.named_vectors import NamedVectors, folder_report, vectors_text

    choice = VectorFilter(tuple(type or ()), tuple(method or ()), only)
    trying = run is not None or run_command is not None
    noun = "findings" if trying else "a folder" if out else "vectors on stdout"
    flags: dict[str, object] = {"--out": out, "--check": check, "--force": force, "--run": run}
    flags |= {"--run-command": run_command, "--python": python}
    flags |= {"--type": type, "--method": method, "--only": only, "--output": output}
    refuse_conflicts({name: value for name, value in flags.items() if value}, _CONSTRAINTS)
    chosen = _choose_format(format, noun)
    place = Destination(chosen, output)
    names = NamedVectors((*(words or ()), *(revision or ())), tuple(extension or ()), schema)
    if out is not None:
        folder = out
        finish(
            lambda: folder_report(names, folder, check=check, force=force),
            "vectors",
            Format(chosen),
            doing="generating",
        )
    if trying:
        program = TriedProgram(run, run_command, python, timeout)
        show(lambda view: trial_page(names, choice, program, view), "vectors", place)
    place.deliver(vectors_text(names, choice, whole=chosen is VectorsFormat.JSON))


_EITHER = "write vectors, or test an implementation with them"
_WHOLE = "a folder contains the vectors of a whole revision"
_CONSTRAINTS = (
    OptionConstraint("--run", excludes=("--run-command",), why="both name an implementation"),
    *(
        OptionConstraint(flag, excludes=("--out",), why=_EITHER)
        for flag in ("--run", "--run-command")
    ),
    OptionConstraint(
        "--run-command", (), ("--python",), "the command names its interpreter itself"
    ),
    *(OptionConstraint(flag, (), ("--out",), _WHOLE) for flag in ("--type", "--method", "--only")),
    OptionConstraint("--output", excludes=("--out",), why="write a file, or a folder"),
    OptionConstraint(
        "--check", ("--out",), ("--force",), "it compares a folder, and writes nothing"
    ),
    OptionConstraint("--force", ("--out",), why="it is about files in a folder"),
    OptionConstraint("--python", ("--run",), why="it is the interpreter of the tested SDK"),
)


def _choose_format(requested: VectorsFormat | None, noun: str) -> VectorsFormat:
    formats = _FORMATS[noun]
    if requested is None:
        return formats[0]
    if requested not in formats:
        raise conflict(f"{noun} cannot be shown as {requested}; choose {', '.join(formats)}")
    return requested
