"""Readers of settings in pyproject.toml.

Paths are relative to that file and must be below its folder, because the file may be untrusted;
only the command line may name other places.
"""

import json
import os
import re
from collections.abc import Callable, Mapping
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any, TypeVar, cast

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.names import is_revision
from mcp_protogen.base.problems import did_you_mean
from mcp_protogen.pipeline.config import PROJECT, ClientSettings, FileOf, GivenPatches

_GIT = ".git"
_EACH = "*"
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:")  # a single letter is a drive of Windows
_Choice = TypeVar("_Choice", bound=Enum)


class OutsideError(ValueError):
    """Raised for a setting that leads out of the folder of its file."""


class EntryErrors(ValueError):
    """Raised for a table with wrong entries; `messages` has one for each, by its name."""

    def __init__(self, messages: Mapping[str, str]) -> None:
        super().__init__("; ".join(messages.values()))
        self.messages = messages


def read_text(value: Any, _: Path) -> str:
    """Return a non-empty text."""
    if not isinstance(value, str) or not value:
        raise ValueError("must be a non-empty string")
    return value


def read_texts(value: Any, base: Path) -> tuple[str, ...]:
    """Return one or several texts."""
    if not is_array(value):
        return (read_text(value, base),)
    return tuple(read_text(item, base) for item in cast("list[object]", value))


def read_path(value: Any, base: Path) -> Path:
    """Return a path below the folder of the file."""
    path, real = _follow(value, base)
    if not real.is_relative_to(base.resolve()):
        raise OutsideError("leads out of the folder of this file")
    return shorten_path(path)


def read_out(value: Any, base: Path) -> Path:
    """Return an output path, which may be anywhere in the git repository of the file."""
    path, real = _follow(value, base)
    root = _repository(base.resolve())
    if root is None:
        return read_path(value, base)
    if _GIT in real.parts[len(root.parts) :] or _repository(real) != root:
        raise OutsideError("leads out of the git repository of this file")
    return shorten_path(path)


def _follow(value: Any, base: Path) -> tuple[Path, Path]:
    path = base / read_text(value, base)
    real = Path(os.path.realpath(path))
    if real.is_symlink():  # part of a cycle, which Path.resolve does not accept before Python 3.13
        raise OutsideError("cannot be followed")
    return path, real


def _repository(folder: Path) -> Path | None:
    """Return the git repository around a folder; worktrees and submodules count."""
    return next((root for root in (folder, *folder.parents) if (root / _GIT).exists()), None)


def shorten_path(path: Path) -> Path:
    """Return `path` relative to the working directory, if it is below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def read_source(value: Any, base: Path) -> str:
    """Return the path of a file to read."""
    text = str(read_path(value, base))
    # A relative path may look like a URL: ./file:/etc/hosts.
    if _URL.match(read_text(value, base)) or _URL.match(text):
        raise OutsideError("is a URL")
    return text


def read_extensions(value: Any, base: Path) -> tuple[str, ...]:
    """Return names of extensions, which may have a file."""
    named = (text.partition("=") for text in read_texts(value, base))
    return tuple(
        f"{name}={read_source(source, base)}" if equals else name for name, equals, source in named
    )


def revision_and_file(text: str) -> FileOf:
    """Return the parts of "REVISION=FILE", or of "FILE" without a revision.

    A prefix that cannot be a revision belongs to the file or URL.
    """
    name, equals, source = text.partition("=")
    return FileOf(name, source) if equals and is_revision(name) else FileOf("", text)


def read_schemas(value: Any, base: Path) -> Mapping[str, str]:
    """Return files by revision."""
    if not is_object(value):
        raise ValueError('must be a table of files, such as { "2025-11-25" = "schema.json" }')
    return {revision: read_source(file, base) for revision, file in value.items()}


def read_patches(value: Any, base: Path) -> tuple[FileOf | GivenPatches, ...]:
    """Return files of patches, or patches in a table by revision; `*` stands for each revision."""
    if is_object(value):
        return tuple(_patches_of(revision, patches, base) for revision, patches in value.items())
    named = map(revision_and_file, read_texts(value, base))
    return tuple(FileOf(revision, read_source(file, base)) for revision, file in named)


def _patches_of(key: str, value: Any, base: Path) -> FileOf | GivenPatches:
    revision = "" if key == _EACH else key
    if not is_array(value):
        return FileOf(revision, read_source(value, base))
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"must have only JSON values: {error}") from error
    # The entries are checked with those of files.
    pointer = jsonpointer.join("tool", "mcp-gen", "patches", key)
    return GivenPatches(revision, tuple(value), str(shorten_path(base / PROJECT)), pointer)


def read_clients(value: Any, base: Path) -> tuple[ClientSettings, ...]:
    """Return the typed clients of a project."""
    if not is_object(value):
        raise ValueError("must be a table of tables: [tool.mcp-gen.clients.NAME]")
    clients: list[ClientSettings] = []
    wrong: dict[str, str] = {}
    for name, table in value.items():
        try:
            clients.append(_client(name, table, base))
        except OutsideError:
            raise
        except ValueError as error:
            wrong[name] = str(error)
    if wrong:
        raise EntryErrors(wrong)
    return tuple(clients)


def _client(name: str, value: Any, base: Path) -> ClientSettings:
    if not is_object(value) or not value.keys() >= {"server", "out"}:
        raise ValueError(f"lacks server or out in {name}")
    if unknown := sorted(value.keys() - _OF_CLIENTS.keys()):
        hint = did_you_mean(unknown[0], _OF_CLIENTS)
        raise ValueError(f"has no setting {unknown[0]!r} in {name}; {hint}")
    try:
        settings: dict[str, Any] = {
            key: _OF_CLIENTS[key](setting, base) for key, setting in value.items()
        }
    except OutsideError:
        raise
    except ValueError as error:
        raise ValueError(f"has a setting in {name} that {error}") from error
    pointer = jsonpointer.join("tool", "mcp-gen", "clients", name)
    return ClientSettings(str(shorten_path(base / PROJECT)), pointer, **settings)


def choice_reader(choices: type[_Choice]) -> Callable[[Any, Path], Any]:
    """Return a reader for the values of an enumeration."""

    def read(value: Any, base: Path) -> Any:
        try:
            chosen = choices(read_text(value, base))
        except ValueError as error:
            known = ", ".join(str(choice.value) for choice in choices)
            raise ValueError(f"must be one of {known}") from error
        return chosen if isinstance(chosen, StrEnum) else chosen.value

    return read


def read_flag(value: Any, _: Path) -> bool:
    """Return a boolean."""
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


_OF_CLIENTS: Mapping[str, Callable[[Any, Path], Any]] = {
    "auth": read_text,
    "config": read_path,
    "headers": read_texts,
    "out": read_out,
    "package": read_text,
    "server": read_text,
    "tools": read_texts,
}
