"""Workflow commands of GitHub Actions: lines of a log that become annotations.

What they hold is escaped, so that text from elsewhere stays inside its annotation:
https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
"""

from mcp_protogen.printable import no_command, one_line
from mcp_protogen.problems import Problem


def annotation(level: str, title: str, message: str, file: str = "") -> str:
    """One annotation, `level` being error, warning or notice; `file` is the one it belongs to."""
    place = f"file={_property(file)}," if file else ""
    return f"::{level} {place}title={_property(title)}::{_data(message)}"


def log_line(text: str) -> str:
    """A line beside the annotations, which is none, whatever it begins with."""
    return no_command(one_line(text))


def problem_annotation(problem: Problem) -> str:
    """The annotation of a problem, at its place."""
    where = f" at {problem.pointer}" if problem.pointer else ""
    hint = f" ({problem.hint})" if problem.hint else ""
    message = f"{problem.message}{where}{hint}"
    return annotation(problem.level, problem.code, message, problem.place)


def _data(text: str) -> str:
    shown = "\n".join(map(one_line, text.replace("%", "%25").split("\n")))
    return shown.replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
