"""black, in process, once for each distinct definition.

black leaves exactly two blank lines around classes and functions and formats each by itself. So a
module may be cut there: the pieces are distributed among processes, and pieces that several
revisions share are formatted once. A test compares the result with black on whole files.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from itertools import pairwise

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.emit.text import WIDTH

# Characters to format in one go: enough to be worth sending to another process, and small enough
# that the last module, split up, keeps every processor busy.
_BATCH = 6_000

_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def pieces(source: str) -> tuple[str, ...]:
    """Return `source` cut before and after classes and functions with blank lines around them."""
    lines = source.split("\n")  # as ast counts them
    cuts = [0, *_cuts(ast.parse(source).body, lines), len(lines)]
    cut = ["\n".join(lines[start:end]).strip("\n") for start, end in pairwise(cuts)]
    return tuple(piece for piece in cut if piece)


def _cuts(body: Sequence[ast.stmt], lines: Sequence[str]) -> Iterator[int]:
    for before, after in pairwise(body):
        if not isinstance(before, _DEFINITIONS) and not isinstance(after, _DEFINITIONS):
            continue
        start = (
            min([after.lineno, *(node.lineno for node in getattr(after, "decorator_list", ()))]) - 1
        )
        between = lines[before.end_lineno or 0 : start]
        # A comment belongs to the code after it; without a blank line, black treats both as one.
        if between and not any(between):
            yield start


class Formatter:
    """A queue of pieces for an executor; each distinct piece is formatted once."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._formatted: dict[str, tuple[Future[list[str]], int]] = {}

    def add(self, pieces: Iterable[str]) -> None:
        """Start to format the new ones of `pieces`."""
        batch: list[str] = []
        for piece in dict.fromkeys(pieces):
            if piece not in self._formatted:
                batch.append(piece)
            if sum(map(len, batch)) > _BATCH:
                self._start(batch)
                batch = []
        if batch:
            self._start(batch)

    def _start(self, batch: list[str]) -> None:
        future = self._executor.submit(format_all, batch)
        self._formatted |= {piece: (future, index) for index, piece in enumerate(batch)}

    def joined(self, pieces: Iterable[str]) -> str:
        """Return a module made of `pieces`, which must have been added before."""
        formatted = (
            future.result()[index] for future, index in map(self._formatted.__getitem__, pieces)
        )
        return "\n\n\n".join(piece.rstrip("\n") for piece in formatted) + "\n"


def format_all(sources: Sequence[str]) -> list[str]:
    """Return each of `sources` as black formats it."""
    import black
    from black.mode import TargetVersion

    # The target decides on syntax, not the Python that runs this: same bytes everywhere.
    mode = black.Mode(line_length=WIDTH, target_versions={TargetVersion.PY311})
    return [black.format_str(source, mode=mode) for source in sources]


def check_syntax(source: str, path: str, origin: str) -> None:
    """Raise `ProblemError`, with the line of the template's output, if `source` is not Python."""
    try:
        ast.parse(source)
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
