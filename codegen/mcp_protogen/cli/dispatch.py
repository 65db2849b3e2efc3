"""The choice of what a command line runs, and the exit codes of failures."""

import os
import sys
import warnings

from mcp_protogen.base.problems import ProblemError
from mcp_protogen.cli.console import crash, prepare_streams, show_problems
from mcp_protogen.cli.run import is_value, plain, run

_INTERRUPTED = 130  # 128 + SIGINT
_COMPLETING = "_MCP_GEN_COMPLETE"
"""The variable with which a shell asks for completions, whatever the command line is."""


def dispatch() -> None:
    """Run the command line, and end the process."""
    prepare_streams()
    if not sys.warnoptions:
        # They are for authors of libraries, and quote their subjects without escapes.
        warnings.simplefilter("ignore")
    try:
        _run(sys.argv[1:])
    except ProblemError as error:
        show_problems(error.problems)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except Exception as error:
        crash(error, debug="--debug" in sys.argv)
        sys.exit(3)


def _run(arguments: list[str]) -> None:
    # To import the library behind all commands takes longer than a check or a comparison, so usual
    # command lines are read without it. All others, and whatever is wrong with one, are left to it.
    usual = not os.environ.get(_COMPLETING)
    if os.environ.get(_COMPLETING) == "complete_bash":
        from mcp_protogen.cli.bash_words import rejoin

        rejoin(os.environ)
    if usual and (said := plain(arguments)) is not None:
        run(said.mode, said.flags, force=said.force, cached=said.cached)
    match arguments:
        case ["diff", before, after] if usual and is_value(before) and is_value(after):
            from mcp_protogen.cli.comparing import DiffOptions, compare

            compare(DiffOptions(before, after))
        case ["new", name] if usual and is_value(name):
            from mcp_protogen.cli.starting import NewOptions, start

            start(NewOptions(name))
        case _:
            from mcp_protogen.cli.app import app
            from mcp_protogen.cli.usage import run_app

            run_app(app, arguments)
