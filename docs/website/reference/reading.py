"""Public names and their docstrings, read by griffe from the source of the generated package.

Only the modules with public names, and those of their bases, are read.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final, cast

from griffe import (
    Alias,
    Attribute,
    Class,
    Expr,
    ExprSubscript,
    Function,
    GriffeError,
    Module,
    Object,
    visit,
)
from mcp_protogen.pipeline.parts import INSTANCES, PARTS, PartSelection, missing_names

from website.places import ROOT

PACKAGE: Final = "mcp_revisions"
REVISIONS: Final = tuple(
    folder.name for folder in sorted((ROOT / "generated" / PACKAGE).glob("v[0-9]*"))
)
"""The packages of revisions, the oldest first."""
EVERYTHING: Final = PartSelection(tuple(PARTS), True, ("apps", "server-card", "skills", "tasks"))

_FOLDERS: Final = {PACKAGE: ROOT / "generated", "mcp_protogen": ROOT / "codegen"}
_GENERATED: Final = {
    "Bridge": "bridge.Bridge",
    "REVISIONS": "REVISIONS",
    "load": "load",
    "translate": "translate.translate",
}
"""Places of names that do not come from the runtime."""
_OF_A_REVISION: Final = {"App": "app", "Client": "client", "Server": "server", "Session": "server"}


@cache
def places() -> dict[str, str]:
    """Return the full name of each public name; of a revision's, that in the last revision."""
    found = {
        name: f"mcp_protogen.runtime.{module}.{name}"
        for module, names in EVERYTHING.exports
        for name in names
        if not name.startswith("__")
    }
    found |= {name: found[of] for name, of in INSTANCES.items()}
    found |= {name: f"{PACKAGE}.{place}" for name, place in _GENERATED.items()}
    last = f"{PACKAGE}.{REVISIONS[-1]}"
    return found | {name: f"{last}.{module}.{name}" for name, module in _OF_A_REVISION.items()}


def is_of_revisions(name: str) -> bool:
    """Return whether a name belongs to each revision."""
    return name in _OF_A_REVISION


@cache
def brought_by() -> dict[str, str]:
    """Return the part that brings each optional public name."""
    return missing_names(PartSelection(()))


def object_of(name: str) -> Object:
    """Return the object of a public name."""
    return _at(places()[name])


def stubs(name: str) -> dict[str, set[str]]:
    """Return the public members that each revision declares for `Server`, `Client`, `Session`."""
    found: dict[str, set[str]] = {}
    for revision in REVISIONS:
        of = _at(f"{PACKAGE}.{revision}.{_OF_A_REVISION[name]}.{name}")
        found[revision] = {member.name for member in of.members.values() if is_public(member)}
    return found


def base_of_models() -> Object:
    """Return the base of all models."""
    return _at("mcp_protogen.runtime.core.models.base.WireModel")


def functions_of_methods() -> list[tuple[str, Object]]:
    """Return the functions of the module `methods` of a revision, by name."""
    module = _module(f"{PACKAGE}.{REVISIONS[-1]}.methods")
    table = _at("mcp_protogen.runtime.messages.codec.MessageCodec")
    return [
        (member.name, cast("Function", table.members[str(member.value).removeprefix("TABLE.")]))
        for member in module.members.values()
        if isinstance(member, Attribute) and str(member.value).startswith("TABLE.")
    ]


def declared_in(module: str) -> tuple[str, list[Object]]:
    """Return the docstring of a module, and its public definitions in their order."""
    found = _module(module)
    defined = [member for member in found.members.values() if not isinstance(member, Alias)]
    documented = [name for name in defined if is_public(name)]
    return found.docstring.value if found.docstring else "", documented


def options_of(function: Function) -> Class | None:
    """Return the `TypedDict` of the keyword options of a function."""
    for parameter in function.parameters:
        if (
            isinstance(parameter.annotation, ExprSubscript)
            and str(parameter.annotation.left) == "Unpack"
        ):
            path = cast("Expr", parameter.annotation.slice).canonical_path
            found = _at(path) if path.split(".")[0] in _FOLDERS else None
            return found if isinstance(found, Class) else None
    return None


def members(of: Class, *, undocumented: bool = False) -> Iterator[Object]:
    """Yield the public members of a class and of its bases, in their order, its own first.

    Members without a docstring are not for users, unless they are options.
    """
    seen: set[str] = set()
    for base in _with_bases(of):
        for member in base.members.values():
            if member.name not in seen and isinstance(member, (Attribute, Function)):
                seen.add(member.name)
                if is_public(member) or (undocumented and not member.name.startswith("_")):
                    yield member


def is_public(member: Object | Alias) -> bool:
    """Return whether a member is for users: it has a docstring and a public name."""
    if isinstance(member, Alias) or member.name.startswith("_"):
        return False
    return member.docstring is not None


def _with_bases(of: Class) -> Iterator[Class]:
    yield of
    for base in of.bases:
        path = base if isinstance(base, str) else base.canonical_path
        if path.split(".")[0] in _FOLDERS:
            yield from _with_bases(cast("Class", _at(path)))


@cache
def _at(path: str) -> Object:
    """Return the object with a full name, at its definition."""
    module, _, name = path.rpartition(".")
    found = _module(module).members[name]
    if isinstance(found, Alias):
        return _at(found.target_path)
    return found


@cache
def _module(path: str) -> Module:
    parent, _, name = path.rpartition(".")
    file = _FOLDERS[path.split(".")[0]].joinpath(*path.split("."))
    file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
    if not file.is_file():
        raise GriffeError(f"unknown module {path}")
    above = _module(parent) if parent else None
    return visit(name, filepath=file, code=file.read_text(encoding="utf-8"), parent=above)
