"""The command line: arguments become calls, and results become output and exit codes.

Each command is a module with its options that calls a function elsewhere. `outcome` shows the
result and ends the process; `conversation` does so for commands that talk to a server. Only
`console` prints, and it escapes all output. Reports go to stdout, problems to stderr; with
`--format json` or `github` both go to stdout, in one document. Exit codes: 0 fine, 1 something
differs, 2 wrong use or bad input, 3 a fault of the tool itself, 130 interrupted, 141 the reader of
stdout went away.
"""

import atexit
import gc

_YOUNG = 100_000


def main() -> None:
    """Run the command line, and end the process."""
    # A command lives for a second and keeps most of its objects, above all those of its imports:
    # garbage collection is seldom worth its time.
    gc.set_threshold(_YOUNG)
    atexit.register(gc.freeze)
    from mcp_protogen.cli.dispatch import dispatch

    dispatch()
