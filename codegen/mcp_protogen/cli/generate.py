"""`mcp-gen generate`: write, check or compare a generated package."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.cli import completion
from mcp_protogen.cli.options import (
    COMPARED,
    CONTENT,
    Debug,
    DocstringsOption,
    Force,
    FormatOption,
    NoCache,
    Patches,
    Quiet,
    RevisionWords,
    Schemas,
    Templates,
)
from mcp_protogen.cli.run import run
from mcp_protogen.cli.target_options import (
    BaseClass,
    ExtraOption,
    InlineObjects,
    Layers,
    LayoutOption,
    Names,
    QuotesOption,
    RootModels,
    TargetName,
    TypesOnly,
)
from mcp_protogen.cli.usage import HelpWanted
from mcp_protogen.pipeline.config import Settings, load_settings, revision_and_file
from mcp_protogen.pipeline.parts import DEFAULT

_MODES = ("check", "diff", "dry-run")


def generate(
    context: typer.Context,
    words: RevisionWords = None,
    revision: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REVISION",
            rich_help_panel=CONTENT,
            help="Revision to generate, or all. Repeat it, or separate names by commas.",
            autocompletion=completion.revision,
        ),
    ] = None,
    parts: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="PART",
            rich_help_panel=CONTENT,
            help="Part of the package, or all, or none. Repeat it, or separate names by commas.",
            show_default=", ".join(DEFAULT),
            autocompletion=completion.part,
        ),
    ] = None,
    extension: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=FILE|URL]",
            rich_help_panel=CONTENT,
            help="Extension to generate for the revisions that it extends, or all, or none; with a"
            " schema to use in place of its pin. Repeat it for others.",
            autocompletion=completion.extension,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        # Whether it can be read is seen when it is read, also on a line that is not read by Typer.
        typer.Option(metavar="DIR", readable=False, help="Folder of the generated package."),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            rich_help_panel=COMPARED,
            help="Write nothing; say why the package is out of date.",
        ),
    ] = False,
    diff: Annotated[
        bool,
        typer.Option(
            "--diff",
            rich_help_panel=COMPARED,
            help="Write nothing; show what would change, line by line.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            rich_help_panel=COMPARED,
            help="Write nothing; name the files that would change.",
        ),
    ] = False,
    regenerate: Annotated[
        bool,
        typer.Option(
            "--regenerate",
            rich_help_panel=COMPARED,
            help="With --check: generate anew and compare every byte.",
        ),
    ] = False,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune",
            rich_help_panel=CONTENT,
            help="Remove revisions, parts, and extensions not asked for.",
        ),
    ] = False,
    schema: Schemas = None,
    rules: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|URL",
            rich_help_panel=CONTENT,
            help="Translation rules for the revision of --schema.",
        ),
    ] = None,
    docstrings: DocstringsOption = None,
    patches: Patches = None,
    templates: Templates = None,
    runtime: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE",
            rich_help_panel=CONTENT,
            help="An installed runtime to import; copy: the package has its own.",
        ),
    ] = None,
    only: Layers = None,
    target: TargetName = None,
    layout: LayoutOption = None,
    base_class: BaseClass = None,
    extra: ExtraOption = None,
    root_models: RootModels = None,
    inline_objects: InlineObjects = None,
    types_only: TypesOnly = None,
    quotes: QuotesOption = None,
    names: Names = None,
    format: FormatOption = None,
    force: Force = False,
    no_cache: NoCache = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Generate a typed Python package from published schemas.

    A second run with another revision, part or extension adds it; --prune removes the others.
    Options may also be set in [tool.mcp-gen] of pyproject.toml; the command line wins. The word
    `generate` may be left out.
    """
    flags = _schemas(schema or ())._replace(
        revisions=(*(words or ()), *(revision or ())) or None,
        out=out,
        docstrings=docstrings,
        patches=tuple(map(revision_and_file, patches)) if patches else None,
        rules=rules,
        templates=templates,
        format=format,
        prune=prune,
        runtime=runtime,
        parts=tuple(parts) if parts else None,
        extensions=tuple(extension) if extension else None,
        target=target,
        layers=tuple(only) if only else None,
        layout=layout.value if layout else None,
        base_class=base_class,
        extra=extra.value if extra else None,
        root_models=root_models,
        inline_objects=inline_objects,
        types_only=types_only,
        quotes=quotes.value if quotes else None,
        names=names,
    )
    modes = [name for name, on in zip(_MODES, (check, diff, dry_run), strict=True) if on]
    mode = _mode(modes, regenerate=regenerate)
    _refuse_commands(context, words or ())
    if len(sys.argv) == 1 and load_settings(Path.cwd()) == Settings():
        raise HelpWanted(context.find_root().get_help())
    run(mode, flags, force=force, cached=not no_cache, quiet=quiet)


def _refuse_commands(context: typer.Context, words: Iterable[str]) -> None:
    root: Any = context.find_root()
    for word in {*words} & {*root.command.list_commands(root)}:
        raise _conflict(f"{word} is a command: it is the first word, before all options")


def _mode(modes: list[str], *, regenerate: bool) -> str:
    """Return what a command line does, by the options that say it."""
    if len(modes) > 1:
        raise _conflict(f"--{' and --'.join(modes)} exclude each other")
    if regenerate and modes != ["check"]:
        raise _conflict("--regenerate needs --check")
    return "regenerate" if regenerate else modes[0] if modes else "generate"


def _schemas(given: Iterable[str]) -> Settings:
    """Return settings with the schema that is given without a revision, and the others."""
    said = [revision_and_file(one) for one in given]
    unnamed = [one.source for one in said if not one.revision]
    named = dict(one for one in said if one.revision)
    if len(unnamed) > 1 or len(unnamed) + len(named) < len(said):
        raise _conflict("--schema is given twice for one revision; write --schema REVISION=FILE")
    return Settings(schema=next(iter(unnamed), None), schemas=named or None)


def _conflict(message: str) -> ProblemError:
    return ProblemError(Problem("conflicting-options", message))
