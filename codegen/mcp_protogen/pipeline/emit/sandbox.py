"""The environment of templates, which limits calls, changes and includes."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import BuiltinMethodType
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

_DATA = (str, int, float, list, tuple, dict, set, frozenset)
_OF_JINJA = {"jinja2.runtime", "jinja2.utils"}  # macros and loops, joiners and cyclers


def sandbox(
    built_in: Path, filters: Mapping[str, Callable[..., Any]], override: Path | None = None
) -> Environment:
    """Return an environment; templates in `override` take precedence over those in `built_in`."""
    ours = FileSystemLoader(built_in)
    environment = _Sandbox(
        loader=ours if override is None else ChoiceLoader([_OwnFolder(override), ours]),
        undefined=StrictUndefined,
        autoescape=False,  # the output is Python, and every schema text goes through a filter
        keep_trailing_newline=True,
        optimized=False,  # each template is compiled anew, and rendered a few times
    )
    environment.filters.update(filters)
    return environment


class _Sandbox(ImmutableSandboxedEnvironment):
    """An environment that allows calls of macros, functions of Jinja, and methods of data."""

    def is_safe_callable(self, obj: Any) -> bool:
        obj = getattr(obj, "__wrapped__", obj)  # Jinja's own guard around str.format
        owner = getattr(obj, "__self__", None)
        of_jinja = any(type(candidate).__module__ in _OF_JINJA for candidate in (obj, owner))
        of_data = isinstance(obj, BuiltinMethodType) and isinstance(owner, _DATA)
        is_known = of_data or of_jinja or any(obj is value for value in self.globals.values())
        return is_known and super().is_safe_callable(obj)


class _OwnFolder(FileSystemLoader):
    """A folder of templates; links out of it are refused."""

    def get_source(
        self, environment: Environment, template: str
    ) -> tuple[str, str, Callable[[], bool]]:
        """Return the text of a template; raise `SecurityError` for one outside the folder."""
        for folder in map(Path, self.searchpath):
            if not (folder / template).resolve().is_relative_to(folder.resolve()):
                raise SecurityError(f"{template!r} is outside the folder of templates")
        return super().get_source(environment, template)
