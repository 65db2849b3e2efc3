"""The text of modules: whether it is Python, and its layout, which is that of black."""

import ast
from contextlib import suppress

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.emit.imports import sorted_imports
from mcp_protogen.pipeline.emit.text import WIDTH
from mcp_protogen.pipeline.emit.wrapping import UnknownForm, wrapped


def formatted(source: str, *, ours: bool) -> str:
    """Return a module in the layout of black.

    Our own templates print that, but for statements that are too long; a test compares the result
    with black. Modules from a user's templates, and statements of unknown forms, need black itself.
    """
    source = sorted_imports(source)
    if ours:
        with suppress(UnknownForm):
            return wrapped(source)
    import black
    from black.mode import TargetVersion

    # The target decides on syntax, not the Python that runs this: same bytes everywhere.
    mode = black.Mode(line_length=WIDTH, target_versions={TargetVersion.PY311})
    return black.format_str(source, mode=mode)


def parsed(source: str, path: str, origin: str) -> ast.Module:
    """Return the tree of a module; raise `ProblemError`, with the line, if it is not Python."""
    try:
        return ast.parse(source)
    except SyntaxError as error:
        line = f"line {error.lineno}: {(error.text or '').strip()!r:.100}"
        raise ProblemError(
            Problem(
                "template-error",
                f"the text of {path} is not valid Python: {error.msg}, {line}",
                origin,
                hint="look at what the template prints there",
            )
        ) from error
