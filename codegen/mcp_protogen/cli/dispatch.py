"""Dispatch of command lines, and the exit codes of failures."""

import os
import sys
import warnings

from mcp_protogen.base.problems import ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.cli.console import asker, crash, prepare_streams, show_problems
from mcp_protogen.cli.destination import Destination
from mcp_protogen.cli.outcome import finish, show
from mcp_protogen.cli.run import is_value, parse_plain_command, run
from mcp_protogen.pipeline.config import Format
from mcp_protogen.pipeline.inputs.file_formats import check_folder

_INTERRUPTED = 130  # 128 + SIGINT
_COMPLETING = "_MCP_GEN_COMPLETE"
"""The variable in which a shell asks for completions."""


def dispatch() -> None:
    """Run the command line, and end the process."""
    prepare_streams()
    if not sys.warnoptions:
        # Warnings are for authors of libraries, and quote foreign text without escapes.
        warnings.simplefilter("ignore")
    try:
        _run(sys.argv[1:])
    except ProblemError as error:
        show_problems(error.problems)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except Exception as error:
        debug = "--debug" in sys.argv
        # Reading checks these files only as far as it must: a check of all takes as long as a run.
        if wrong := () if debug else tuple(check_folder(schema_folder())):
            show_problems(wrong)
            sys.exit(2)
        crash(error, debug=debug)
        sys.exit(3)


def _run(arguments: list[str]) -> None:
    # To import Typer takes longer than a check or a comparison, so the usual command lines are read
    # without it. Typer reads all others, and those with mistakes.
    usual = not os.environ.get(_COMPLETING)
    if os.environ.get(_COMPLETING) == "complete_bash":
        from mcp_protogen.cli.bash_words import rejoin

        rejoin(os.environ)
    if usual and (plain := parse_plain_command(arguments)) is not None:
        run(plain.mode, plain.flags, force=plain.force, cached=plain.cached)
    match arguments:
        case ["diff", before, after] if usual and _are_revisions(before, after):
            from mcp_protogen.instep.compare.comparison_page import (
                ComparisonRequest,
                comparison_page,
            )
            from mcp_protogen.pipeline.reports.findings import FindingOptions

            request, changes = ComparisonRequest(before, after), FindingOptions("change")
            place = Destination(Format.TEXT)
            show(lambda view: comparison_page(request, changes, view), "diff", place)
        case ["new", name] if usual and is_value(name):
            from mcp_protogen.scaffold.start import NewOptions, start

            options = NewOptions(name)
            finish(lambda: start(options, asker()), "new", doing="generating")
        case _:
            from mcp_protogen.cli.app import app
            from mcp_protogen.cli.usage import run_app

            run_app(app, arguments)


def _are_revisions(*names: str) -> bool:
    """Return whether names can be revisions, and not options or locks of clients."""
    return all(is_value(name) and not name.endswith(".lock") for name in names)
