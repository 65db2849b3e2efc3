"""The lock beside a generated module: the contract of the server, and the options of the module."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mcp_protogen import __version__
from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.file_set import finish
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.names import UnsafeName, attribute_name, installed_module
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.servers.clients.contract import Contract, read_contract
from mcp_protogen.servers.clients.package import PackageTasks

FORMAT: Final = 1
KIND: Final = "typed client"
SUFFIX: Final = ".lock"
_HINT: Final = "restore it, or remove it and generate the module again"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLock:
    """The content of a lock.

    `package` is the package that the module imports, and `revision_module` a revision in it.
    `methods` are the names that the user chose, by tool; with `chosen`, the contract has only some
    tools. `tasks` is the kind of tasks that the package's clients have. `module` is the digest of
    the module, and `generator` the version that made it.
    """

    contract: Contract
    package: str
    revision_module: str
    methods: Mapping[str, str] = field(default_factory=dict[str, str])
    chosen: bool = False
    tasks: PackageTasks = PackageTasks.NONE
    generator: str = __version__
    module: str = ""

    def chosen_of(self, found: Contract) -> Contract:
        """Return the current contract, with only the chosen tools if this lock has only some."""
        if not self.chosen:
            return found
        return found.only(name for name in self.contract.tools if name in found.tools)

    def content(self) -> bytes:
        """Return the bytes of the file."""
        members = {
            "format": FORMAT,
            "kind": KIND,
            "generator": self.generator,
            "module": self.module,
            "package": self.package,
            "revision_module": self.revision_module,
            "methods": dict(sorted(self.methods.items())),
            "chosen": self.chosen,
            "tasks": self.tasks.value,
            "contract": self.contract.as_json(),
        }
        # Members of schemas stay in the order of the server: people read arguments in this order.
        return f"{json.dumps(members, indent=2, ensure_ascii=False, allow_nan=False)}\n".encode()


def lock_of(module: Path) -> Path:
    """Return the file of the lock of a module."""
    return module.with_suffix(SUFFIX)


def is_client_lock(name: str) -> bool:
    """Return whether a name is that of a lock; no revision has such a name."""
    return name.endswith(SUFFIX) and Path(name).is_file()


def read_client_lock(path: Path) -> ClientLock | None:
    """Return the content of a lock; None if there is no file.

    Raise `ProblemError`: `bad-lock` for an invalid lock, `newer-lock` for a later version's.
    """
    finish(path.with_suffix(".py"))
    try:
        value: Any = parse_json(path.read_bytes(), str(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _bad(path, error.strerror or str(error)) from error
    if not is_object(value) or value.get("kind") != KIND:
        raise _bad(path, "this is not a lock of a typed client")
    if value.get("format") != FORMAT:
        message = f"the lock has the format {value.get('format')!r:.20}, not {FORMAT}"
        hint = "update mcp-gen"
        raise ProblemError(Problem("newer-lock", message, str(path), hint=hint))
    try:
        return _lock(value, str(path))
    except (KeyError, TypeError, ValueError) as error:
        raise _bad(path, f"{type(error).__name__}: {error}") from error


def _lock(value: Mapping[str, Any], place: str) -> ClientLock:
    # A lock may come with a foreign project, and its names become code.
    methods = {str(tool): attribute_name(str(name)) for tool, name in value["methods"].items()}
    revision_module = str(value["revision_module"])
    if not revision_module.isidentifier() or not revision_module.isascii():
        raise UnsafeName(revision_module)
    return ClientLock(
        contract=read_contract(value["contract"], place),
        package=installed_module(str(value["package"])),
        revision_module=revision_module,
        methods=methods,
        chosen=bool(value["chosen"]),
        tasks=PackageTasks(value.get("tasks", PackageTasks.NONE)),
        generator=str(value["generator"]),
        module=str(value["module"]),
    )


def _bad(path: Path, message: str) -> ProblemError:
    return ProblemError(Problem("bad-lock", message, str(path), hint=_HINT))
