"""The options for types and tables alone, in the form of a target, declared with Typer."""

from enum import Enum
from typing import Annotated

import typer

from mcp_protogen.cli import completion
from mcp_protogen.cli.options import ALONE


class LayoutName(Enum):
    """The layouts of what a target makes."""

    single = "single"
    package = "package"


class ExtraName(Enum):
    """What happens to undeclared members."""

    allow = "allow"
    ignore = "ignore"
    forbid = "forbid"


class QuotesName(Enum):
    """The quotes around strings."""

    single = "single"
    double = "double"


Layers = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        rich_help_panel=ALONE,
        metavar="LAYER",
        help="Types and tables alone, without a runtime: models, methods, capabilities. Repeat it,"
        " or separate names by commas.",
        autocompletion=completion.layer,
    ),
]
TargetName = Annotated[
    str | None,
    typer.Option(
        "--target",
        rich_help_panel=ALONE,
        metavar="NAME",
        help="Form of types and tables alone; without --only, of the models.",
        autocompletion=completion.target,
    ),
]
LayoutOption = Annotated[
    LayoutName | None,
    typer.Option(
        "--layout",
        rich_help_panel=ALONE,
        help="With a target: one module for each revision, or a package with folders.",
    ),
]
BaseClass = Annotated[
    str | None,
    typer.Option(
        "--base-class",
        rich_help_panel=ALONE,
        metavar="MODULE:CLASS",
        help="With a target: the class that all models extend.",
    ),
]
ExtraOption = Annotated[
    ExtraName | None,
    typer.Option(
        "--extra",
        rich_help_panel=ALONE,
        help="With a target: what happens to undeclared members of types that are not open.",
    ),
]
RootModels = Annotated[
    bool | None,
    typer.Option(
        "--root-models/--no-root-models",
        rich_help_panel=ALONE,
        help="With a target: aliases are classes around a value.",
        show_default=False,
    ),
]
InlineObjects = Annotated[
    bool | None,
    typer.Option(
        "--inline-objects/--no-inline-objects",
        rich_help_panel=ALONE,
        help="With a target: objects without a name in the published types have none here either.",
        show_default=False,
    ),
]
TypesOnly = Annotated[
    bool | None,
    typer.Option(
        "--types-only/--no-types-only",
        rich_help_panel=ALONE,
        help="With a target: types and constants alone, without a validator.",
        show_default=False,
    ),
]
QuotesOption = Annotated[
    QuotesName | None,
    typer.Option(
        "--quotes", rich_help_panel=ALONE, help="With a target: the quotes around strings."
    ),
]
Names = Annotated[
    str | None,
    typer.Option(
        "--names",
        rich_help_panel=ALONE,
        metavar="FILE|URL",
        help="Your names for types, members and modules, and which types are open.",
    ),
]
