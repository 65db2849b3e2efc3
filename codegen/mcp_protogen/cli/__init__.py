"""The command line: it turns arguments into calls, and results into output and exit codes.

A command is a module that has its options and calls a function of another room; `outcome` shows
what that returns and ends the process, and `conversation` does so for what is asked of a server.
Only `console` prints, and makes safe what it prints. Reports go to stdout, problems to stderr; with
`--format json` or `github` both go to stdout, in one document. Exit codes: 0 fine, 1 something
differs, 2 wrong use or bad input, 3 a fault of the tool itself, 130 interrupted, 141 the reader of
stdout went away.
"""

import atexit
import gc

_YOUNG = 100_000


def main() -> None:
    """Run the command line, and end the process."""
    # A command lives for a second and keeps most of its objects, those of its imports above all, so
    # that looking for garbage is seldom worth its time, and least of all at the end.
    gc.set_threshold(_YOUNG)
    atexit.register(gc.freeze)
    from mcp_protogen.cli.dispatch import dispatch

    dispatch()
