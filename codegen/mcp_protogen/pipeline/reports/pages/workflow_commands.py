"""Workflow commands of GitHub Actions: lines of a log that become annotations.

Their content is escaped, so that foreign text stays inside its annotation:
https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands GitHub shows some
annotations, drops the others silently and cuts long ones. The log has the rest, and an annotation
mentions that.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mcp_protogen.base.printable import no_command, safe_line
from mcp_protogen.base.problems import Problem
from mcp_protogen.base.toml_lines import line_of
from mcp_protogen.pipeline.config import PROJECT

# https://github.com/actions/toolkit/blob/main/docs/problem-matchers.md: for each level and step.
SHOWN = 10
# https://github.com/actions/runner, ExecutionContext.cs: the longest message.
LONGEST = 4096
# https://docs.github.com/rest/checks/runs: the longest title of an annotation.
_LONGEST_TITLE = 255


@dataclass(frozen=True, slots=True)
class Annotation:
    """One annotation: `level` is error, warning or notice.

    `file` is its file, from the working directory, and `line` the line in it, from 1.
    """

    level: str
    title: str
    message: str
    file: str = ""
    line: int = 0

    @property
    def command(self) -> str:
        """The line that becomes the annotation, within the limits."""
        place = f"file={_property(_from_workspace(self.file))}," if self.file else ""
        place += f"line={self.line}," if self.line else ""
        title, message = _shorten(self.title, _LONGEST_TITLE), _shorten(self.message, LONGEST)
        return f"::{self.level} {place}title={_property(title)}::{_escape_data(message)}"

    @property
    def fits(self) -> bool:
        """Return whether the annotation fits into the limits."""
        return len(self.title) <= _LONGEST_TITLE and len(self.message) <= LONGEST

    @property
    def in_log(self) -> str:
        """The whole annotation as a line that is not a command."""
        place = f"{self.file}:{self.line or ''}".rstrip(":") + ": " if self.file else ""
        return log_line(f"{self.level}: {place}{self.title}: {self.message}")


def page_lines(parts: Iterable[Annotation | str]) -> Iterator[str]:
    """Yield the lines of a page: annotations as far as GitHub shows them, the rest for the log.

    If GitHub would hide some of a level, the last annotation has their number.
    """
    found = list(parts)
    left = Counter(part.level for part in found if isinstance(part, Annotation))
    quota = {level: SHOWN if number <= SHOWN else SHOWN - 1 for level, number in left.items()}
    for part in found:
        if isinstance(part, str):
            yield log_line(part)
            continue
        if quota[part.level] > 0:
            yield part.command
        elif quota[part.level] == 0:
            yield _overflow_note(part.level, left[part.level]).command
        if quota[part.level] <= 0 or not part.fits:
            yield part.in_log
        left[part.level] -= 1
        quota[part.level] -= 1


def _overflow_note(level: str, number: int) -> Annotation:
    message = f"{number} more of this level are in the log of this step; GitHub shows only {SHOWN}."
    return Annotation(level, f"{number} more", message)


def log_line(text: str) -> str:
    """Return a line of the log that is never a command."""
    return no_command(safe_line(text))


def problem_annotation(problem: Problem) -> Annotation:
    """Return the annotation of a problem, at its place."""
    where = f" at {problem.pointer}" if problem.pointer else ""
    hint = f" ({problem.hint})" if problem.hint else ""
    message = f"{problem.message}{where}{hint}"
    line = line_in_project(problem.place, problem.pointer)
    return Annotation(problem.level, problem.code, message, problem.place, line)


def line_in_project(file: str, pointer: str) -> int:
    """Return the line of a place in a pyproject.toml; 0 for other files, and if it is unknown."""
    if Path(file).name != PROJECT or not pointer:
        return 0
    return line_of(Path(file).read_text("utf-8"), pointer)


def _from_workspace(file: str) -> str:
    """Return the path of a file from the root of the checkout, as GitHub reads it.

    https://docs.github.com/actions/reference/workflows-and-actions/variables: it is the working
    directory of a step without another one.
    """
    root = os.environ.get("GITHUB_WORKSPACE")
    if not root or "://" in file:
        return file
    path = Path(os.path.normpath(Path.cwd() / file))
    whole = Path(root).resolve()
    return path.relative_to(whole).as_posix() if path.is_relative_to(whole) else file


def _shorten(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _escape_data(text: str) -> str:
    shown = "\n".join(map(safe_line, text.replace("%", "%25").split("\n")))
    return shown.replace("\n", "%0A")


def _property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")
