"""The settings of a run: flags merged over `[tool.mcp-gen]` of the nearest pyproject.toml.

Nothing is generated, fetched or written here. Paths in pyproject.toml are relative to that file,
paths on the command line to the working directory. The person who runs mcp-gen may not be the one
who wrote pyproject.toml. So a path in that file must be below its folder; only the command line may
name other places.
"""

import json
import os
import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, cast

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.names import is_revision
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.base.suggest import did_you_mean
from mcp_protogen.pipeline.package import ExtensionInputs, RevisionInputs
from mcp_protogen.pipeline.parts import ALL, DEFAULT, Selection
from mcp_protogen.pipeline.target import (
    EXTRAS,
    LAYOUTS,
    QUOTES,
    Extra,
    Layout,
    Quotes,
    TargetOptions,
)

COPY = "copy"
"""What says that a package has a copy of the runtime; no module of a runtime is called so."""

PROJECT = "pyproject.toml"
_GIT = ".git"
_TABLE = "[tool.mcp-gen]"
_EACH = "*"
_Choice = TypeVar("_Choice", bound=StrEnum)
_OF_REVISIONS = frozenset({"listed", "rules", "schema"})
_SAID_WITH = {
    "rules": "--revision ... --schema ... --rules ... --out ...",
    "schema": "--revision ... --schema ... --out ...",
    "schemas": "--revision ... --schema REVISION=... --out ...",
}
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:")  # a single letter is a drive of Windows


class _OutsideError(ValueError):
    """A setting leads out of the folder of its file."""


class GivenFile(NamedTuple):
    """A file that replaces one of ours: its name or URL, and its content."""

    name: str
    content: bytes


class Docstrings(StrEnum):
    """The texts about types and members, and about what is sent."""

    NONE = "none"
    OURS = "ours"
    SCHEMA = "schema"
    """Those of published schemas, which the user has to give."""


class FileOf(NamedTuple):
    """A file or URL, and the revision it is for; empty if none is named."""

    revision: str
    source: str


class GivenPatches(NamedTuple):
    """Corrections of the user, which come after ours, as entries of a `patches.json`.

    They are for one revision, or for each that is generated if `revision` is empty. `place` is the
    file that they are in, and `pointer` their place in it.
    """

    revision: str
    entries: tuple[Any, ...]
    place: str
    pointer: str


class GenerationOptions(NamedTuple):
    """All input of the generator.

    `revisions` are generated, sorted; each from its pin unless `schemas` has a file for it. `kept`
    are further revisions of the package whose files stay as they are: they are listed, not
    generated. `templates` is a folder whose templates take precedence over the built-in ones.
    `rules` are translation rules between a revision and the one before it, in place of ours.
    `runtime` is the module of an installed runtime to import; without one, the package has a copy.
    `parts` are what the package has beside messages. `extensions` are generated for the revisions
    that they extend, by name; each from its pin unless there is a file for it. `kept_extensions`
    stay as `kept` do. With a `target`, types and tables are generated alone, in its form;
    `distribution` is that of a target of others, with its version. `names` are those that the user
    gives to types. `patches` are applied to schemas after ours.
    """

    revisions: tuple[str, ...]
    schemas: Mapping[str, GivenFile] = MappingProxyType({})
    templates: Path | None = None
    kept: Mapping[str, RevisionInputs] = MappingProxyType({})
    rules: Mapping[str, GivenFile] = MappingProxyType({})
    runtime: str | None = None
    parts: tuple[str, ...] = DEFAULT
    extensions: Mapping[str, GivenFile | None] = MappingProxyType({})
    kept_extensions: Mapping[str, ExtensionInputs] = MappingProxyType({})
    target: TargetOptions | None = None
    distribution: str | None = None
    names: GivenFile | None = None
    docstrings: Docstrings = Docstrings.OURS
    patches: tuple[GivenPatches, ...] = ()

    def patches_of(self, revision: str) -> tuple[GivenPatches, ...]:
        """Return the patches of the user that are for a revision."""
        return tuple(one for one in self.patches if one.revision in ("", revision))

    @property
    def selection(self) -> Selection:
        """The contents of the package, by its parts and extensions."""
        extensions = {*self.extensions, *self.kept_extensions}
        return Selection(self.parts, len({*self.revisions, *self.kept}) > 1, extensions)


class Format(StrEnum):
    """The forms of a report."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"


class ClientSettings(NamedTuple):
    """A typed client of a project: its server as on the command line, its module, and the rest."""

    name: str
    server: str
    out: Path
    package: str | None = None
    config: Path | None = None
    tools: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    auth: str = "auto"


class Settings(NamedTuple):
    """The settings of a run, from pyproject.toml or flags; None where nobody has set one.

    `own` are patterns of files in the output folder that belong to the user; `--check` does not
    report them. `listed` are the revisions that pyproject.toml lists, which are all that the
    package has. With `prune`, revisions that are not asked for are removed from the package.
    `runtime` is the module of an installed runtime, or `COPY`. `extensions` are names, each with
    the file or URL in place of its pin if there is one: "tasks", "tasks=FILE"; `ALL`, or `NONE`.
    `schemas` are files or URLs by revision, and `schema` is one for a revision that is not named.
    `patches` are files, or entries that pyproject.toml has itself.
    From `target` to `quotes`, they say in which form types and tables are generated alone.
    `names` is the file or URL of names that the user gives to types. `clients` are typed clients,
    which have a command of their own.
    """

    revisions: tuple[str, ...] | None = None
    out: Path | None = None
    schema: str | None = None
    rules: str | None = None
    templates: Path | None = None
    format: Format | None = None
    own: tuple[str, ...] | None = None
    listed: tuple[str, ...] | None = None
    prune: bool = False
    runtime: str | None = None
    parts: tuple[str, ...] | None = None
    listed_parts: tuple[str, ...] | None = None
    prune_parts: bool = False
    extensions: tuple[str, ...] | None = None
    listed_extensions: tuple[str, ...] | None = None
    prune_extensions: bool = False
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
        """The revisions that stay in the package; None if none is to be removed."""
        unsaid = () if self.parts is None and self.extensions is None else None
        return (self.listed or self.revisions or unsaid) if self.prune else None

    @property
    def only_parts(self) -> bool:
        """Return whether the package is to have no other parts than those asked for."""
        return self.parts is not None and (self.prune or self.prune_parts)

    @property
    def only_extensions(self) -> bool:
        """Return whether the package is to have no other extensions than those asked for."""
        return self.extensions is not None and (self.prune or self.prune_extensions)

    def as_listed(self) -> "Settings":
        """Return these settings, with `prune` and its like where there are lists."""
        return self._replace(
            prune=self.prune or self.listed is not None,
            prune_parts=self.listed_parts is not None,
            prune_extensions=self.listed_extensions is not None,
        )

    def over(self, other: "Settings") -> "Settings":
        """Return these settings, with those of `other` where these are not set.

        A schema and rules belong to the revision they were set with: naming other revisions drops
        both, and what is set for revisions by their names, if these are not among them. A list of
        revisions belongs to the folder it was set with.
        """
        said = {name: getattr(self, name) for name in self._fields if self.overrule(name)}
        if self.revisions is not None:
            other = other._for(self.revisions)
        if self.schemas is not None:
            said["schemas"] = {**(other.schemas or {}), **self.schemas}
        if self.out and other.out and os.path.realpath(self.out) != os.path.realpath(other.out):
            said["listed"] = said["listed_parts"] = said["listed_extensions"] = None
        return other._replace(**said)

    def _for(self, revisions: Iterable[str]) -> "Settings":
        """Return these settings without what they have for other revisions than these."""
        named = {name.strip() for text in revisions for name in text.split(",")}
        if ALL in named:
            return self
        schemas = {name: file for name, file in (self.schemas or {}).items() if name in named}
        patches = tuple(one for one in self.patches or () if one.revision in {"", *named})
        return self._replace(schemas=schemas or None, patches=patches or None)

    def overrule(self, name: str) -> bool:
        """Return whether these settings, put over others, replace or drop their value of `name`."""
        dropped = self.revisions is not None and name in _OF_REVISIONS
        dropped |= self.parts is not None and name == "listed_parts"
        dropped |= self.extensions is not None and name == "listed_extensions"
        return dropped or getattr(self, name) is not None


def setting_names() -> tuple[str, ...]:
    """Return the names that settings have in pyproject.toml, sorted."""
    return tuple(sorted(_READERS))


def load_settings(
    start: Path, flags: Settings | None = None, *, only: Container[str] | None = None
) -> Settings:
    """Return the `[tool.mcp-gen]` table of the nearest pyproject.toml at or above `start`.

    With `only`, other settings are not read. A path that is not read, or that `flags` overrule, may
    lead anywhere, because it is not used. Raise `ProblemError` with every entry that cannot be
    used: `bad-config`, `outside-project`.
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
        raise ProblemError(Problem("bad-config", str(error), str(_seen(file)))) from error
    return _settings(table, file, flags or Settings(), only)


def _settings(table: Any, file: Path, flags: Settings, only: Container[str] | None) -> Settings:
    if not is_object(table):
        raise ProblemError(Problem("bad-config", f"{_TABLE} is not a table", str(_seen(file))))
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for key, value in table.items():
        try:
            name, read = _READERS[key]
            if only is None or name in only:
                values[name] = read(value, file.parent)
        except KeyError:
            hint = did_you_mean(key, _READERS)
            problems.append(_bad(f"{_TABLE} has no setting {key!r}", file, hint))
        except _OutsideError as error:
            if not flags.overrule(key):
                said = _SAID_WITH.get(key, f"--{key} ...")
                hint = f"if you want that, name it on the command line: mcp-gen {said}"
                message = f"{key} in {_TABLE} {error}"
                problems.append(Problem("outside-project", message, str(_seen(file)), hint=hint))
        except ValueError as error:
            problems.append(_bad(f"{key} in {_TABLE} {error}", file))
    if problems:
        raise ProblemError(*problems)
    return Settings(
        **values,
        listed=values.get("revisions") or None,
        listed_parts=values.get("parts") or None,
        listed_extensions=values.get("extensions"),
    )


def _bad(message: str, file: Path, hint: str = "") -> Problem:
    return Problem("bad-config", message, str(_seen(file)), hint=hint)


def _text(value: Any, _: Path) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("must be a string that is not empty")
    return value


def _texts(value: Any, base: Path) -> tuple[str, ...]:
    if not is_array(value):
        return (_text(value, base),)
    return tuple(_text(item, base) for item in cast("list[object]", value))


def _path(value: Any, base: Path) -> Path:
    path, real = _follow(value, base)
    if not real.is_relative_to(base.resolve()):
        raise _OutsideError("leads out of the folder of this file")
    return _seen(path)


def _out(value: Any, base: Path) -> Path:
    """Return a place to write to, which may be anywhere in the git repository of the file."""
    path, real = _follow(value, base)
    root = _repository(base.resolve())
    if root is None:
        return _path(value, base)
    if _GIT in real.parts[len(root.parts) :] or _repository(real) != root:
        raise _OutsideError("leads out of the git repository of this file")
    return _seen(path)


def _follow(value: Any, base: Path) -> tuple[Path, Path]:
    path = base / _text(value, base)
    real = Path(os.path.realpath(path))
    if real.is_symlink():  # one of a circle, which Path.resolve does not bear before Python 3.13
        raise _OutsideError("cannot be followed")
    return path, real


def _repository(folder: Path) -> Path | None:
    """Return the git repository around a folder; worktrees and submodules count."""
    return next((root for root in (folder, *folder.parents) if (root / _GIT).exists()), None)


def _seen(path: Path) -> Path:
    """Return `path` relative to the working directory if it is below, which is easier to read."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _source(value: Any, base: Path) -> str:
    text = str(_path(value, base))
    # A path may read like a URL once it is one from the working directory: ./file:/etc/hosts.
    if _URL.match(_text(value, base)) or _URL.match(text):
        raise _OutsideError("is a URL")
    return text


def _extensions(value: Any, base: Path) -> tuple[str, ...]:
    named = (text.partition("=") for text in _texts(value, base))
    return tuple(
        f"{name}={_source(source, base)}" if equals else name for name, equals, source in named
    )


def revision_and_file(text: str) -> FileOf:
    """Return the file or URL that "REVISION=FILE" names; "FILE" alone names no revision.

    What is no name of a revision belongs to the file or URL.
    """
    name, equals, source = text.partition("=")
    return FileOf(name, source) if equals and is_revision(name) else FileOf("", text)


def _schemas(value: Any, base: Path) -> Mapping[str, str]:
    if not is_object(value):
        raise ValueError('must be a table of files, such as { "2025-11-25" = "schema.json" }')
    return {revision: _source(file, base) for revision, file in value.items()}


def _patches(value: Any, base: Path) -> tuple[FileOf | GivenPatches, ...]:
    """Return files of patches, or what a table has by revision; `*` stands for each revision."""
    if is_object(value):
        return tuple(_patches_of(revision, one, base) for revision, one in value.items())
    named = map(revision_and_file, _texts(value, base))
    return tuple(FileOf(revision, _source(file, base)) for revision, file in named)


def _patches_of(key: str, value: Any, base: Path) -> FileOf | GivenPatches:
    revision = "" if key == _EACH else key
    if not is_array(value):
        return FileOf(revision, _source(value, base))
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"must have values of JSON alone: {error}") from error
    # What is in them is read with those of files.
    pointer = jsonpointer.join("tool", "mcp-gen", "patches", key)
    return GivenPatches(revision, tuple(value), str(_seen(base / PROJECT)), pointer)


def _clients(value: Any, base: Path) -> tuple[ClientSettings, ...]:
    if not is_object(value):
        raise ValueError("must be a table of tables: [tool.mcp-gen.clients.NAME]")
    return tuple(_client(name, one, base) for name, one in value.items())


def _client(name: str, value: Any, base: Path) -> ClientSettings:
    if not is_object(value) or not value.keys() >= {"server", "out"}:
        raise ValueError(f"has no server or no out in {name}")
    if unknown := sorted(value.keys() - _OF_CLIENTS.keys()):
        hint = did_you_mean(unknown[0], _OF_CLIENTS)
        raise ValueError(f"has no setting {unknown[0]!r} in {name}; {hint}")
    try:
        said: dict[str, Any] = {key: _OF_CLIENTS[key](one, base) for key, one in value.items()}
    except _OutsideError:
        raise
    except ValueError as error:
        raise ValueError(f"has a setting in {name} that {error}") from error
    return ClientSettings(name, **said)


def _choice(kind: type[_Choice]) -> Callable[[Any, Path], _Choice]:
    def read(value: Any, base: Path) -> _Choice:
        try:
            return kind(_text(value, base))
        except ValueError as error:
            raise ValueError(f"must be one of {', '.join(kind)}") from error

    return read


def _one_of(choices: Collection[str]) -> Callable[[Any, Path], str]:
    def read(value: Any, base: Path) -> str:
        if _text(value, base) not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return str(value)

    return read


def _flag(value: Any, _: Path) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


_OF_CLIENTS: Mapping[str, Callable[[Any, Path], Any]] = {
    "auth": _text,
    "config": _path,
    "headers": _texts,
    "out": _out,
    "package": _text,
    "server": _text,
    "tools": _texts,
}
_READERS: Mapping[str, tuple[str, Callable[[Any, Path], Any]]] = {
    "base-class": ("base_class", _text),
    "clients": ("clients", _clients),
    "docstrings": ("docstrings", _choice(Docstrings)),
    "extensions": ("extensions", _extensions),
    "extra": ("extra", _one_of(EXTRAS)),
    "format": ("format", _choice(Format)),
    "inline-objects": ("inline_objects", _flag),
    "layout": ("layout", _one_of(LAYOUTS)),
    "names": ("names", _source),
    "only": ("layers", _texts),
    "out": ("out", _out),
    "own": ("own", _texts),
    "patches": ("patches", _patches),
    "quotes": ("quotes", _one_of(QUOTES)),
    "revision": ("revisions", _texts),
    "root-models": ("root_models", _flag),
    "revisions": ("revisions", _texts),
    "rules": ("rules", _source),
    "runtime": ("runtime", _text),
    "schema": ("schema", _source),
    "schemas": ("schemas", _schemas),
    "target": ("target", _text),
    "templates": ("templates", _path),
    "types-only": ("types_only", _flag),
    "with": ("parts", _texts),
}
