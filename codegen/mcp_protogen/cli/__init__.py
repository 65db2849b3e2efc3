"""The command line: it turns arguments into calls, and results into output and exit codes.

Only `console` prints, and makes safe what it prints. Reports go to stdout, problems to stderr; with
`--format json` or `github` both go to stdout, in one document. Exit codes: 0 fine, 1 something
differs, 2 wrong use or bad input, 3 a fault of the tool itself, 130 interrupted, 141 the reader of
stdout went away.
"""

import sys
import warnings

from mcp_protogen.base.problems import ProblemError
from mcp_protogen.cli.console import crash, show_problems, tolerate_narrow_encodings
from mcp_protogen.cli.run import plain, run

_INTERRUPTED = 130  # 128 + SIGINT


def main() -> None:
    """Run the command line, and end the process."""
    tolerate_narrow_encodings()
    if not sys.warnoptions:
        # They are for authors of libraries, and quote their subjects without escapes.
        warnings.simplefilter("ignore")
    try:
        _dispatch(sys.argv[1:])
    except ProblemError as error:
        show_problems(error.problems)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except Exception as error:
        crash(error, debug="--debug" in sys.argv)
        sys.exit(3)


def _dispatch(arguments: list[str]) -> None:
    # Hooks and CI run little else than a plain check. It takes 50 ms, and importing the library
    # behind all other commands takes longer, so that such forms are read without it.
    if (said := plain(arguments)) is not None:
        run(said.mode, said.flags, force=said.force, cached=said.cached)
    match [one for one in arguments if one and not one.startswith("-")], len(arguments):
        case (["diff", before, after], 3):
            from mcp_protogen.cli.diff import diff

            diff(before, after)
        case (["new", name], 2):
            from mcp_protogen.cli.new import new

            new(name)
        case _:
            from mcp_protogen.cli.app import app
            from mcp_protogen.cli.usage import run_app

            run_app(app, arguments)
