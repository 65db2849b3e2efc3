"""The settings of a run: flags merged over `[tool.mcp-gen]` of the nearest pyproject.toml.

Paths in pyproject.toml are relative to that file, paths on the command line to the working
directory.
"""

import os
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean
from mcp_protogen.pipeline.config import (
    PROJECT,
    ClientSettings,
    Docstrings,
    FileOf,
    Format,
    GivenPatches,
)
from mcp_protogen.pipeline.options import BY_FIELD, BY_KEY, OPTIONS
from mcp_protogen.pipeline.parts import ALL
from mcp_protogen.pipeline.setting_readers import EntryErrors, OutsideError, shorten_path
from mcp_protogen.pipeline.target import Extra, Layout, Quotes

_TABLE = "[tool.mcp-gen]"
_ARGUMENTS = {
    "rules": "--revision ... --schema ... --rules ... --out ...",
    "schema": "--revision ... --schema ... --out ...",
    "schemas": "--revision ... --schema REVISION=... --out ...",
}


class Settings(NamedTuple):
    """The settings of a run, from pyproject.toml or flags; None where not set.

    `own` are patterns of the user's files in the output folder; `--check` does not report them.
    `listed` are the lists of pyproject.toml by their fields; with `only_listed`, the package has
    nothing else. `prune` removes items that are not requested from the package. `runtime` is the
    module of an installed runtime, or `COPY`. `extensions` are names, which may have a file or URL
    in place of the pin: "tasks", "tasks=FILE"; `ALL`, or `NONE`. `schemas` are files or URLs by
    revision, and `schema` is one for an unnamed revision. `patches` are files, or entries of
    pyproject.toml. `target` to `quotes` are options of types and tables alone. `names` is a file
    or URL of the user's names for types. `clients` are typed clients, for the command `client`.
    """

    revisions: tuple[str, ...] | None = None
    out: Path | None = None
    schema: str | None = None
    rules: str | None = None
    templates: Path | None = None
    format: Format | None = None
    own: tuple[str, ...] | None = None
    listed: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    only_listed: bool = False
    prune: bool = False
    runtime: str | None = None
    parts: tuple[str, ...] | None = None
    extensions: tuple[str, ...] | None = None
    target: str | None = None
    layers: tuple[str, ...] | None = None
    layout: Layout | None = None
    base_class: str | None = None
    extra: Extra | None = None
    root_models: bool | None = None
    inline_objects: bool | None = None
    types_only: bool | None = None
    quotes: Quotes | None = None
    names: str | None = None
    schemas: Mapping[str, str] | None = None
    docstrings: Docstrings | None = None
    patches: tuple[FileOf | GivenPatches, ...] | None = None
    clients: tuple[ClientSettings, ...] | None = None

    @property
    def only(self) -> tuple[str, ...] | None:
        """The revisions that stay in the package; None if all stay."""
        default = () if self.parts is None and self.extensions is None else None
        return (self.listed.get("revisions") or self.revisions or default) if self.prune else None

    def has_only(self, field: str) -> bool:
        """Return whether the package is limited to the requested items of a list."""
        pruned = self.prune or (self.only_listed and field in self.listed)
        return pruned and getattr(self, field) is not None

    def as_listed(self) -> "Settings":
        """Return these settings, with lists that limit the package."""
        return self._replace(
            prune=self.prune or bool(self.listed.get("revisions")), only_listed=True
        )

    def merge_over(self, other: "Settings") -> "Settings":
        """Return these settings, with values of `other` where these are not set.

        A schema and rules belong to their revision: other revisions drop both, and also named
        schemas and patches of revisions that are not requested. A list of revisions belongs to its
        output folder.
        """
        values = {name: getattr(self, name) for name in BY_FIELD if self.overrule(name)}
        if self.revisions is not None:
            other = other._for(self.revisions)
        if self.schemas is not None:
            values["schemas"] = {**(other.schemas or {}), **self.schemas}
        moved = self.out and other.out and os.path.realpath(self.out) != os.path.realpath(other.out)
        lists: Mapping[str, tuple[str, ...]] = {} if moved else other.listed
        values["listed"] = {name: names for name, names in lists.items() if name not in values}
        return other._replace(**values)

    def _for(self, revisions: Iterable[str]) -> "Settings":
        """Return these settings without schemas and patches of other revisions."""
        requested = {name.strip() for text in revisions for name in text.split(",")}
        if ALL in requested:
            return self
        schemas = {name: file for name, file in (self.schemas or {}).items() if name in requested}
        patches = tuple(patch for patch in self.patches or () if patch.revision in {"", *requested})
        return self._replace(schemas=schemas or None, patches=patches or None)

    def overrule(self, name: str) -> bool:
        """Return whether these settings replace or drop the other value of `name`."""
        dropped = self.revisions is not None and BY_FIELD[name].belongs_to_revisions
        return dropped or getattr(self, name) is not None


def setting_names() -> tuple[str, ...]:
    """Return the names of settings in pyproject.toml, sorted."""
    return tuple(sorted(BY_KEY))


def load_settings(
    start: Path, flags: Settings | None = None, *, only: Container[str] | None = None
) -> Settings:
    """Return the `[tool.mcp-gen]` table of the nearest pyproject.toml at or above `start`.

    `only` limits the settings that are read. An unused path, which is not read or overruled by
    `flags`, may lead anywhere. Raise `ProblemError` with every unusable entry: `bad-config`,
    `outside-project`.
    """
    file = next((f for p in (start, *start.parents) if (f := p / PROJECT).is_file()), None)
    if file is None:
        return Settings()
    try:
        content = file.read_bytes()
        if b"mcp-gen" not in content:  # spares most runs the TOML parser
            return Settings()
        import tomllib

        table = tomllib.loads(content.decode()).get("tool", {}).get("mcp-gen", {})
    except (OSError, ValueError, AttributeError) as error:
        raise ProblemError(Problem("bad-config", str(error), str(shorten_path(file)))) from error
    return _settings(table, file, flags or Settings(), only)


def _settings(table: Any, file: Path, flags: Settings, only: Container[str] | None) -> Settings:
    if not is_object(table):
        raise ProblemError(
            Problem("bad-config", f"{_TABLE} is not a table", str(shorten_path(file)))
        )
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for key, value in table.items():
        option = BY_KEY.get(key)
        if option is None:
            hint = did_you_mean(key, BY_KEY)
            problems.append(_bad(f"{_TABLE} has no setting {key!r}", file, hint))
            continue
        try:
            if only is None or option.field in only:
                values[option.field] = option.kind.read(value, file.parent)
        except OutsideError as error:
            if not flags.overrule(option.field):
                arguments = _ARGUMENTS.get(key, f"{option.spelled} ...")
                hint = f"if you want that, name it on the command line: mcp-gen {arguments}"
                message = f"{key} in {_TABLE} {error}"
                problems.append(
                    Problem("outside-project", message, str(shorten_path(file)), hint=hint)
                )
        except EntryErrors as error:
            for name, message in error.messages.items():
                pointer = jsonpointer.join("tool", "mcp-gen", key, name)
                problem = _bad(f"{key} in {_TABLE} {message}", file)
                problems.append(problem._replace(pointer=pointer))
        except ValueError as error:
            problems.append(_bad(f"{key} in {_TABLE} {error}", file))
    if problems:
        raise ProblemError(*problems)
    lists = (
        list_option.field
        for list_option in OPTIONS
        if list_option.is_list and values.get(list_option.field) is not None
    )
    return Settings(**values, listed={field: values[field] for field in lists})


def _bad(message: str, file: Path, hint: str = "") -> Problem:
    return Problem("bad-config", message, str(shorten_path(file)), hint=hint)
