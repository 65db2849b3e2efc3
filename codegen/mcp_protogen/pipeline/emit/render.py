"""Rendering of templates. A template prints its input and decides nothing.

A folder of templates may belong to an untrusted project, so templates run in a sandbox: they cannot
reach Python or any file outside their folder.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.emit import text, views
from mcp_protogen.pipeline.package import RUNTIME_FOLDER

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
FILTERS: Mapping[str, Callable[..., str | tuple[str, ...]]] = {
    **views.FILTERS,
    "docstring": text.docstring,
    "literal": text.literal,
    "set_of": text.set_of,
    "tuple_of": text.tuple_of,
}
"""The filters of templates, beside those of Jinja; they are part of the contract."""


class Renderer:
    """A renderer of package templates; the user's templates take precedence over ours."""

    def __init__(
        self, templates: Path, override: Path | None = None, runtime: str | None = None
    ) -> None:
        # Slow to import, and no other module needs it.
        from mcp_protogen.pipeline.emit.sandbox import sandbox

        self.overridden = override is not None
        """Whether the user has templates."""
        self._runtime = runtime
        self._environment = sandbox(templates / "package", FILTERS, override)

    def runtime_in(self, path: str) -> str:
        """Return the name of the runtime in the imports of the module at `path`."""
        return self._runtime or "." * (path.count("/") + 1) + RUNTIME_FOLDER

    def render(self, template: str, context: Mapping[str, Any]) -> str:
        """Return the text of `template`; raise `ProblemError` with its name and line."""
        try:
            return self._environment.get_template(template).render(context)
        except Exception as error:
            # A template can fail in any way, without a fault of this code.
            raise ProblemError(_problem(template, error)) from error


def _problem(template: str, error: Exception) -> Problem:
    from jinja2.exceptions import SecurityError

    name, line = _place(error)
    place = f"{name or template}:{line}"
    hint = "a template may use what the built-in template of the same name uses"
    if isinstance(error, SecurityError):
        message = _ADDRESS.sub("", str(error)).rstrip(".")
        return Problem("template-forbidden", message, place, hint=hint)
    return Problem("template-error", f"{type(error).__name__}: {error}", place, hint=hint)


def _place(error: Exception) -> tuple[str, int]:
    """Return the template and line of a syntax error, or of the innermost frame in a template."""
    line: int | None = getattr(error, "lineno", None)
    place = ("", 1) if line is None else (getattr(error, "name", None) or "", line)
    trace = error.__traceback__
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        if path.suffix == ".jinja":
            place = (path.name, trace.tb_lineno)
        trace = trace.tb_next
    return place
