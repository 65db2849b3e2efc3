"""The generating form of `mcp-gen`, which has no name: the options of a generated package."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from mcp_protogen import __version__
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.cli import completion
from mcp_protogen.cli.console import say
from mcp_protogen.cli.options import (
    DocstringsOption,
    Force,
    FormatOption,
    NoCache,
    Patches,
    Quiet,
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


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"mcp-gen {__version__}\n")
        raise typer.Exit


def generate(
    context: typer.Context,
    revision: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REVISION",
            help="Revision to generate, or all. Repeat it, or separate names by commas.",
            autocompletion=completion.revision,
        ),
    ] = None,
    parts: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="PART",
            help="Part of the package, or all, or none. Repeat it, or separate names by commas.",
            show_default=", ".join(DEFAULT),
            autocompletion=completion.part,
        ),
    ] = None,
    extension: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=FILE|URL]",
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
        bool, typer.Option("--check", help="Write nothing; say why the package is out of date.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Write nothing; show what would change, line by line.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing; name the files that would change.")
    ] = False,
    regenerate: Annotated[
        bool,
        typer.Option("--regenerate", help="With --check: generate anew and compare every byte."),
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove revisions, parts, and extensions not asked for.")
    ] = False,
    schema: Schemas = None,
    rules: Annotated[
        str | None,
        typer.Option(metavar="FILE|URL", help="Translation rules for the revision of --schema."),
    ] = None,
    docstrings: DocstringsOption = None,
    patches: Patches = None,
    templates: Templates = None,
    runtime: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE", help="An installed runtime to import; copy: the package has its own."
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
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an internal fault.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Generate a typed Python package from published schemas of the Model Context Protocol.

    A second run with another revision, part or extension adds it; --prune removes the others.
    Options may also be set in [tool.mcp-gen] of pyproject.toml; the command line wins.
    """
    flags = _schemas(schema or ())._replace(
        revisions=tuple(revision) if revision else None,
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
    if context.invoked_subcommand is not None:
        if flags != Settings() or modes or regenerate or force or no_cache or quiet:
            raise _conflict(f"{context.invoked_subcommand} does not take the options before it")
    else:
        mode = _mode(modes, regenerate=regenerate)
        if len(sys.argv) == 1 and load_settings(Path.cwd()) == Settings():
            raise HelpWanted(context.get_help())
        run(mode, flags, force=force, cached=not no_cache, quiet=quiet)


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
