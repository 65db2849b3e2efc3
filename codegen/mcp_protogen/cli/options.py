"""The options that several commands have, declared with Typer."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mcp_protogen.pipeline.config import Docstrings, Format


class FailOn(StrEnum):
    """The lowest severity at which a change makes the command fail."""

    BREAKING = "breaking"
    WARNING = "warning"
    ANY = "any"


class LeastSeverity(StrEnum):
    """The lowest severity of what is shown."""

    BREAKING = "breaking"
    WARNING = "warning"
    INFO = "info"


FormatOption = Annotated[Format | None, typer.Option("--format", help="Form of the report.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that were edited by hand.")]
NoCache = Annotated[
    bool,
    typer.Option("--no-cache", help="Neither use packages of earlier runs nor keep this one."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Leave out the summary.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to this file, not to stdout."),
]
Schema = Annotated[
    str | None,
    typer.Option(
        "--schema", metavar="FILE|URL", help="A published schema to use in place of the pin."
    ),
]
Schemas = Annotated[
    list[str] | None,
    typer.Option(
        "--schema",
        metavar="[REVISION=]FILE|URL",
        help="A published schema to use in place of the pin. Repeat it for others.",
    ),
]
DocstringsOption = Annotated[
    Docstrings | None,
    typer.Option(
        "--docstrings",
        help="Texts about types and members: none, ours, or those of the schemas that are given.",
        show_default="ours",
    ),
]
Patches = Annotated[
    list[str] | None,
    typer.Option(
        "--patches",
        metavar="[REVISION=]FILE|URL",
        help="Corrections of your own, which are applied to schemas after ours. Repeat it for"
        " others.",
    ),
]
SchemaFolder = Annotated[
    Path | None,
    typer.Option(
        "--schema-folder",
        metavar="DIR",
        help="Folder of pins and snapshots, if not the installed one.",
    ),
]
Templates = Annotated[
    Path | None,
    typer.Option(
        "--templates", metavar="DIR", help="Folder of templates that replace built-in ones."
    ),
]
BaselineFile = Annotated[
    Path | None,
    typer.Option(
        "--baseline", metavar="FILE", help="File of known findings; only others fail the run."
    ),
]
WriteBaseline = Annotated[
    bool, typer.Option("--write-baseline", help="Write everything found into the baseline.")
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar="CODE[:ITEM]",
        help="Leave out what has this code and this item; * stands for anything.",
    ),
]
