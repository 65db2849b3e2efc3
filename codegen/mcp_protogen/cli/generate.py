"""`mcp-gen generate`: write, check or compare a generated package."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from mcp_protogen.base.option_constraints import conflict, refuse_conflicts
from mcp_protogen.cli.options import (
    Debug,
    Force,
    NoCache,
    Quiet,
    RevisionWords,
    comparing_option,
)
from mcp_protogen.cli.run import run
from mcp_protogen.cli.setting_options import with_settings
from mcp_protogen.cli.usage import HelpWanted
from mcp_protogen.pipeline.options import MODE_CONSTRAINTS, MODES
from mcp_protogen.pipeline.settings import Settings, load_settings


@with_settings()
def generate(
    context: typer.Context,
    words: RevisionWords = None,
    *,
    flags: Settings,
    check: Annotated[
        bool,
        comparing_option(
            "--check",
            help="Write nothing; say whether the package is out of date, and why.",
        ),
    ] = False,
    diff: Annotated[
        bool,
        comparing_option("--diff", help="Write nothing; show what would change, line by line."),
    ] = False,
    dry_run: Annotated[
        bool,
        comparing_option("--dry-run", help="Write nothing; name the files that would change."),
    ] = False,
    regenerate: Annotated[
        bool,
        comparing_option(
            "--regenerate", help="With --check: generate anew and compare every byte."
        ),
    ] = False,
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
    flags = flags._replace(revisions=(*(words or ()), *(flags.revisions or ())) or None)
    modes = [name for name, on in zip(MODES, (check, diff, dry_run), strict=True) if on]
    chosen = [*modes, "regenerate"] if regenerate else modes
    refuse_conflicts({f"--{name}": True for name in chosen}, MODE_CONSTRAINTS)
    mode = (chosen or ["generate"])[-1]
    _refuse_commands(context, words or ())
    if len(sys.argv) == 1 and load_settings(Path.cwd()) == Settings():
        raise HelpWanted(context.find_root().get_help())
    run(mode, flags, force=force, cached=not no_cache, quiet=quiet)


def _refuse_commands(context: typer.Context, words: Iterable[str]) -> None:
    root: Any = context.find_root()
    for word in {*words} & {*root.command.list_commands(root)}:
        raise conflict(f"{word} is a command, and must come first, before all options")
