"""Names that are safe to print: a value of these types is always an identifier.

A name in a schema may be a keyword, a builtin or an attempt to inject code. Every name goes through
one of the functions below, which return a safe name or raise an error.
"""

import builtins
import keyword
import re
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Literal


class ClassName(str):
    """A class or type alias of a generated module."""

    __slots__ = ()


Era = Literal["handshake", "stateless"]
"""The ways to open a session."""


class FieldName(str):
    """An attribute of a generated class."""

    __slots__ = ()


class Stem(str):
    """The words that name the stubs of a method: `call_tool`, `import`; see `stub`."""

    __slots__ = ()


class StubName(str):
    """The name of a stub: `call_tool`, `on_call_tool`, `notify_cancelled`."""

    __slots__ = ()


class Constant(str):
    """A module-level constant."""

    __slots__ = ()


class ModuleName(str):
    """A generated package folder such as `v2025_11_25`."""

    __slots__ = ()


class UnsafeName(ValueError):
    """Raised for a name that cannot become a Python identifier of the wanted kind."""


# Other attributes of generated clients and sessions; a stub of the same name would replace them.
_RESERVED_STUBS = frozenset(
    {"answer", "around", "ask", "cache", "capabilities", "client_capabilities", "client_info"}
    | {
        "become_task",
        "close_stream",
        "from_thread",
        "http_request",
        "info",
        "input_required",
        "inputs",
        "instructions",
        "log",
    }
    | {"middleware", "negotiated", "notify", "once", "principal", "progress", "request"}
    | {"request_once"}
    | {"request_id", "require_scopes", "revision", "server_capabilities", "server_info"}
    | {"state"}
)

# ASCII only: Python folds other letters (NFKC), so two different wire names could meet.
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_FILE_STEM = re.compile(r"(?!__)[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}(?<!\.)")
_WRITTEN_BY_TOOLS = re.compile(r"(?!__)[A-Za-z0-9_$ .,:<>\[\]|&~/@#*+-]+")
# A word in a camelCase, PascalCase, snake_case, dotted or slashed name.
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+|[0-9]+")

_REVISION = re.compile(r"[A-Za-z0-9]+([.-][A-Za-z0-9]+)*")
_EXTENSION = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
EXTENSION_HINT = "use small letters and digits, with single hyphens between them"
_WORDS = frozenset({"all", "none"})  # they stand for several names, or for no name
REVISION_HINT = "use letters and digits, with single hyphens or dots between them"

# Names that generated modules import or that typing gives a meaning in annotations.
RESERVED_TYPES = frozenset(
    {"Annotated", "Any", "ClassVar", "Exact", "Field", "Final", "Implied", "Integer", "Literal"}
    | {"Nullable", "Number", "OpenUnion", "PathEntry", "SUPPLIED", "TYPE_CHECKING", "ToolPlaces"}
    | {"ToolResult", "TypeAlias", "TypeAliasType", "UnknownContent", "WireModel"}
    | set(dir(builtins))
)

# A field with such a name would hide the builtin from the annotations after it, or an attribute of
# a model or of its class; `type` and `id` appear in no annotation and read better unchanged.
_RESERVED_FIELDS = frozenset(
    {"bool", "dict", "float", "int", "list", "str"}
    | {"construct", "copy", "from_orm", "json", "parse_file", "parse_obj", "parse_raw"}
    | {"schema", "schema_json", "update_forward_refs", "validate"}
    | {"from_json", "from_wire", "to_json", "to_wire"}
    | {"mro", "register"}
)
# In `self.list`, `match` and the like are fine, true keywords are not.
_KEYWORDS = frozenset(keyword.kwlist)


# Imports of generated modules besides their runtime.
_IMPORTED = sys.stdlib_module_names | {"pydantic", "pydantic_core", "typing_extensions"}


def installed_module(name: str) -> str:
    """Return the dotted name of a module that generated code may import in place of a copy.

    Raise `UnsafeName` for other names.
    """
    parts = name.split(".")
    if not all(_IDENTIFIER.fullmatch(part.lstrip("_")) for part in parts):
        raise UnsafeName("is not the name of a module")
    if taken := next((part for part in parts if keyword.iskeyword(part)), ""):
        raise UnsafeName(f"has the keyword {taken} in it")
    if parts[0] in _IMPORTED:
        raise UnsafeName(f"is in {parts[0]}, which is not a runtime")
    return name


def snake(text: str) -> str:
    """Return a name in snake case: `listChanged` → `list_changed`."""
    return "_".join(_WORD.findall(text)).lower()


def pascal(text: str) -> str:
    """Return a name in Pascal case: `inputSchema` → `InputSchema`, `_meta` → `Meta`."""
    return "".join(word[0].upper() + word[1:] for word in _WORD.findall(text))


def type_name(text: str) -> str:
    """Return the Python name of a type of a schema.

    A name that Python or a generated module uses is changed: `Annotated` → `AnnotatedObject`,
    `Box<Item>` → `BoxItem`, `3d` → `Type3d`. A text that no tool would write as a name is returned
    unchanged, and `class_name` refuses it.
    """
    if not _WRITTEN_BY_TOOLS.fullmatch(text):
        return text
    name = text if _IDENTIFIER.fullmatch(text) and not text[0].islower() else pascal(text)
    if name[:1].isdigit():
        return f"Type{name}"
    return f"{name}Object" if name in _KEYWORDS or name in RESERVED_TYPES else name or text


def class_name(text: str) -> ClassName:
    """Return a type name of the schema unchanged; raise `UnsafeName` for an unsafe one.

    It must start with a capital, unlike attributes: inside a class, an attribute hides a type.
    """
    if not _IDENTIFIER.fullmatch(text) or text[0].islower():
        raise UnsafeName(text)
    if text in _KEYWORDS or text in RESERVED_TYPES:
        raise UnsafeName(text)
    return ClassName(text)


def field_name(wire: str) -> FieldName:
    """Return the attribute for a wire member: snake case, without `_`, `$` or a vendor prefix."""
    local = wire.rsplit("/", 1)[-1].lstrip("_$")
    name = snake(local)
    if name[:1].isdigit():
        name = f"n{name}"
    if not _IDENTIFIER.fullmatch(name) or re.search(r"[^ A-Za-z0-9_.$:@#*+-]", local):
        raise UnsafeName(wire)
    reserved = name in _KEYWORDS or name in _RESERVED_FIELDS or name.startswith("model_")
    return FieldName(f"{name}_" if reserved else name)


def attribute_name(text: str) -> FieldName:
    """Return an attribute name from the user; raise `UnsafeName` for an unsafe one."""
    if not _IDENTIFIER.fullmatch(text) or text in _KEYWORDS:
        raise UnsafeName(text)
    if text in _RESERVED_FIELDS or text.startswith("model_"):
        raise UnsafeName("is an attribute of all models, or hides a builtin")
    return FieldName(text)


def own_module(text: str) -> ModuleName:
    """Return a module name from the user, or raise `UnsafeName`."""
    if not _IDENTIFIER.fullmatch(text.lstrip("_")) or text.startswith("__") or text in _KEYWORDS:
        raise UnsafeName(text)
    return ModuleName(text)


def file_stem(text: str) -> ModuleName:
    """Return the name of a file without its ending, such as `spec.types`, or raise `UnsafeName`."""
    if not _FILE_STEM.fullmatch(text):
        raise UnsafeName(text)
    return ModuleName(text)


def stem(message: str) -> Stem:
    """Return the words of a method's name, from its message type: `CallToolRequest` → `call_tool`.

    Raise `UnsafeName` for a type called just `Request`.
    """
    name = snake(re.sub(r"(Request|Notification)$", "", class_name(message)))
    if not _IDENTIFIER.fullmatch(name):
        raise UnsafeName(message)
    return Stem(name)


def stub(prefix: str, stem: Stem) -> StubName:
    """Return the name of a stub, with a final `_` if Python or its class uses the name."""
    name = prefix + stem
    return StubName(f"{name}_" if name in _KEYWORDS | _RESERVED_STUBS else name)


def constant(*parts: str) -> Constant:
    """Return the name of a constant, or raise `UnsafeName`.

    `("server", "tools", "listChanged")` → `SERVER_TOOLS_LIST_CHANGED`
    """
    name = "_".join(snake(part) for part in parts).upper()
    if not _IDENTIFIER.fullmatch(name):
        raise UnsafeName("/".join(parts))
    return Constant(name)


def extension_module(name: str) -> ModuleName:
    """Return the folder of an extension in a revision, or raise `UnsafeName`.

    `tasks` → `tasks`, `oauth-client-credentials` → `oauth_client_credentials`
    """
    if not is_extension(name):
        raise UnsafeName(name)
    return ModuleName(name.replace("-", "_"))


def is_extension(name: str) -> bool:
    """Return whether a text can be the name of an extension on the command line."""
    taken = name in _KEYWORDS or name in _WORDS
    return not taken and _EXTENSION.fullmatch(name) is not None


def module_name(revision: str) -> ModuleName:
    """Return the module of a revision, or raise `UnsafeName`.

    `2025-11-25` → `v2025_11_25`, `draft` → `vdraft`
    """
    if not is_revision(revision):
        raise UnsafeName(revision)
    return ModuleName("v" + re.sub(r"[.-]", "_", revision).lower())


def feature_module(feature: str) -> str:
    """Return the name of a module for a feature; empty if no letter is left."""
    name = snake(feature).lstrip("_0123456789")
    return f"{name}_" if name in _KEYWORDS else name


def is_revision(text: str) -> bool:
    """Return whether a text can be the name of a revision."""
    return _REVISION.fullmatch(text) is not None


def duplicates(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once, sorted."""
    return sorted(name for name, times in Counter(names).items() if times > 1)
