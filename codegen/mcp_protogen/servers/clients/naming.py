"""Python names for tools, arguments and types, whatever a server calls them."""

import keyword
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import count
from typing import Final

from mcp_protogen.base.names import FieldName, UnsafeName, field_name, pascal, type_name
from mcp_protogen.base.problems import Level, Problem

_LONGEST: Final = 80
"""The most characters of a name."""
_FORBIDDEN: Final = re.compile(r"[^A-Za-z0-9_]+")
# Other methods of clients, and builtins that annotations name: inside a class, a method hides them.
RESERVED_METHODS: Final = frozenset(
    {"CLIENT", "CONNECT", "client", "connect", "prompts", "resources", "with_options"}
    | {"bool", "dict", "float", "int", "list", "str", "type"}
)
_OF_FUNCTIONS: Final = frozenset({"self"})
_RESERVED: Final[Mapping[str, frozenset[str]]] = {"argument": _OF_FUNCTIONS, "member": frozenset()}
_IMPORTED: Final = frozenset(
    {"CallToolResult", "Connect", "GetPromptResult", "OMITTED", "Omitted", "ReadResourceResult"}
    | {"SyncToolClient", "TaskCalls", "ToolClient"}
)


class Names(dict[str, FieldName]):
    """Python names by the server's names, with a warning for each that had to differ."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[Problem] = []


def python_names(
    given: Iterable[str], what: str, place: str, chosen: Mapping[str, str] | None = None
) -> Names:
    """Return the names of parameters, attributes or methods, by the server's names.

    `what` is `argument`, `member`, or the subject of a method, such as `tool`. `chosen` has the
    user's names; `place` is that of warnings.
    """
    reserved = _RESERVED.get(what, RESERVED_METHODS)
    chosen = chosen or {}
    found = Names()
    wanted = list(dict.fromkeys(given))
    taken = set(chosen.values()) | set(reserved)
    for name in wanted:
        if name in chosen:
            found[name] = FieldName(chosen[name])
            continue
        plain = _attribute(name, what)
        free = FieldName(_free(plain, taken))
        if free != plain and plain not in reserved:
            other = next((earlier for earlier in found if found[earlier] == plain), "")
            message = f"{what}s {other!r:.80} and {name!r:.80} would both be called {plain}"
            hint = f"{name!r:.80} is called {free}"
            found.problems.append(
                Problem("name-collision", message, place, hint=hint, level=Level.WARNING)
            )
        taken.add(free)
        found[name] = free
    return found


def _attribute(name: str, what: str) -> str:
    """Return a name in snake case that is safe; `what` stands where no letter is left."""
    for text in (name, _FORBIDDEN.sub("_", _ascii(name))):
        try:
            return field_name(text)[:_LONGEST].rstrip("_") + "_" * field_name(text).endswith("_")
        except UnsafeName:
            continue
    return what


def _ascii(text: str) -> str:
    """Return a text with letters in place of letters with accents, and without others."""
    plain = unicodedata.normalize("NFKD", text)
    return "".join(char for char in plain if not unicodedata.combining(char))


def _free(name: str, taken: Collection[str]) -> str:
    """Return a free name, with a mark or a number at its end if needed."""
    return next(variant for variant in _variants(name) if variant not in taken)


def _variants(name: str) -> Iterator[str]:
    yield name
    stem = name.rstrip("_")
    if name in RESERVED_METHODS | _OF_FUNCTIONS:
        yield f"{stem}_"
    yield from (f"{stem}_{number}" for number in count(2))


class TypeNames:
    """Names of types in one module, each given once."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken = {*_IMPORTED, *reserved}

    def give(self, text: str) -> str:
        """Return a free name, as close to the text as possible."""
        name = class_text(text) or "Model"
        free = next(candidate for candidate in name_variants(name) if candidate not in self._taken)
        self._taken.add(free)
        return free


def class_text(text: str) -> str:
    """Return a text as the name of a class; empty if no letter is usable."""
    plain = pascal(_FORBIDDEN.sub("_", _ascii(text)))[:_LONGEST]
    return type_name(plain) if plain and not keyword.iskeyword(plain) else ""


def name_variants(name: str) -> Iterator[str]:
    """Yield a name, and then the name with a number at its end."""
    yield name
    yield from (f"{name}{number}" for number in count(2))
