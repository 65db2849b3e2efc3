"""The options of a run, as one table for the command line, `[tool.mcp-gen]` and locks."""

from collections.abc import Callable, Mapping
from enum import Enum
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from mcp_protogen.base.canonical import digest, parse_json
from mcp_protogen.base.jsonvalue import is_array
from mcp_protogen.base.option_constraints import OptionConstraint
from mcp_protogen.pipeline import setting_readers as readers
from mcp_protogen.pipeline.config import Docstrings, Format, GenerationOptions
from mcp_protogen.pipeline.parts import DEFAULT, read_parts, record_parts
from mcp_protogen.pipeline.target import EXTRAS, LAYERS, LAYOUTS, QUOTES

CONTENT: Final = "What is generated"
ALONE: Final = "Types and tables alone"
"""Headings of the help."""

MAIN_FIELDS: Final = ("target", "layers")
"""Fields that choose types and tables alone; other options of a target need one of them."""


class ValueKind(NamedTuple):
    """The values of an option: their type on the command line, and the reader of its setting."""

    type: Any
    read: Callable[[Any, Path], Any]
    metavar: str | None = None


def _choice_kind(choices: Any) -> ValueKind:
    return ValueKind(choices, readers.choice_reader(choices))


def _literal_kind(name: str, values: tuple[str, ...]) -> ValueKind:
    return _choice_kind(Enum(name, {value: value for value in values}))


def _texts(metavar: str) -> ValueKind:
    return ValueKind(list[str], readers.read_texts, metavar)


def _text(metavar: str) -> ValueKind:
    return ValueKind(str, readers.read_text, metavar)


_SWITCH: Final = ValueKind(bool, readers.read_flag)
_FILE: Final = ValueKind(str, readers.read_source, "FILE|URL")
_NAMED_FILE: Final = "[REVISION=]FILE|URL"


class Option(NamedTuple):
    """One option; `field` is that of `Settings`.

    `flag` is its name on the command line. `keys` are its names in pyproject.toml, by default the
    same one. `record` makes the value for the lock of the package; `unlock` reads it again for a
    run without the option. A list is added to that of the package, or replaces it with --prune. An
    option with `belongs_to_revisions` is dropped when a run names other revisions. `of` names the
    packages that have the option, if not all. `constraint` has the options that it needs.
    """

    field: str
    kind: ValueKind
    help: str
    flag: str
    keys: tuple[str, ...] | None = None
    heading: str | None = CONTENT
    default: bool | str = True
    record: Callable[[GenerationOptions], Any] | None = None
    unlock: Callable[[Any], Any] | None = None
    is_list: bool = False
    belongs_to_revisions: bool = False
    of: Literal["", "whole", "alone"] = ""
    constraint: OptionConstraint | None = None

    @property
    def spelled(self) -> str:
        """The name on the command line; for a switch, the name that turns it on."""
        return self.flag.partition("/")[0]

    @property
    def name(self) -> str:
        """The name without leading dashes."""
        return self.spelled.removeprefix("--")

    @property
    def setting_names(self) -> tuple[str, ...]:
        """The names in pyproject.toml."""
        return (self.name,) if self.keys is None else self.keys


def _alone_option(field: str, kind: ValueKind, help: str, name: str = "") -> Option:
    """Return an option for types and tables alone."""
    name = name or field.replace("_", "-")

    def record(options: GenerationOptions) -> Any:
        value = getattr(options.target, field, None)
        return [*value] if isinstance(value, tuple) else value or None

    def unlock(value: Any) -> Any:
        try:
            return None if value is None else kind.read(value, Path())
        except ValueError as error:
            raise TypeError(f"its {name} {error}") from error

    flag = f"--{name}/--no-{name}" if kind is _SWITCH else f"--{name}"
    default = kind is not _SWITCH
    read = _unlock_layers if field == "layers" else unlock
    needs = () if field in MAIN_FIELDS else ("--target", "--only")
    constraint = OptionConstraint(f"--{name}", needs, why="it is for types and tables alone")
    return Option(
        field,
        kind,
        help,
        flag,
        None,
        ALONE,
        default,
        record,
        read,
        of="alone",
        constraint=constraint,
    )


def _unlock_layers(value: Any) -> tuple[str, ...] | None:
    if value is not None and not (is_array(value) and {*LAYERS}.issuperset(value)):
        raise TypeError(f"its layers are {value!r:.80}")
    return None if value is None else tuple(value)


def _record_parts(options: GenerationOptions) -> list[str] | None:
    return None if options.target else record_parts(options.parts)


def _record_docstrings(options: GenerationOptions) -> str | None:
    return None if options.docstrings is Docstrings.OURS else str(options.docstrings)


def _unlock_docstrings(value: Any) -> Docstrings | None:
    return None if value is None else Docstrings(value)


def _unlock_runtime(value: Any) -> Any:
    return value


def _record_own(field: str) -> Callable[[GenerationOptions], str | None]:
    return lambda options: "own" if getattr(options, field) else None


def _record_names(options: GenerationOptions) -> str | None:
    names = options.names
    return digest(parse_json(names.content, names.name)) if names else None


OPTIONS: Final[tuple[Option, ...]] = (
    Option(
        "revisions",
        _texts("REVISION"),
        "Revision to generate, or all. Repeat it, or separate names by commas.",
        "--revision",
        ("revisions", "revision"),
        is_list=True,
    ),
    Option(
        "parts",
        _texts("PART"),
        "Part of the package, or all, or none. Repeat it, or separate names by commas.",
        "--with",
        default=", ".join(DEFAULT),
        record=_record_parts,
        unlock=read_parts,
        is_list=True,
        of="whole",
    ),
    Option(
        "extensions",
        ValueKind(list[str], readers.read_extensions, "NAME[=FILE|URL]"),
        "Extension to generate for the revisions that it extends, or all, or none; a schema"
        " replaces its pin. Repeat it for others.",
        "--extension",
        ("extensions",),
        is_list=True,
        of="whole",
    ),
    Option(
        "out",
        ValueKind(Path, readers.read_out, "DIR"),
        "Folder of the generated package.",
        "--out",
        heading=None,
    ),
    Option(
        "prune", _SWITCH, "Remove revisions, parts, and extensions not asked for.", "--prune", ()
    ),
    Option(
        "schema",
        _FILE,
        "A published schema to use in place of the pin, if one revision needs it: --schema FILE.",
        "",
        ("schema",),
        belongs_to_revisions=True,
    ),
    Option(
        "schemas",
        ValueKind(list[str], readers.read_schemas, _NAMED_FILE),
        "A published schema to use in place of the pin. Repeat it for others.",
        "--schema",
        ("schemas",),
    ),
    Option(
        "rules",
        _FILE,
        "Translation rules for the revision of --schema.",
        "--rules",
        belongs_to_revisions=True,
        of="whole",
        constraint=OptionConstraint(
            "--rules",
            needs=("--schema",),
            why="translation rules belong to your own schema",
            hint="those of pinned revisions are built in; name the schema with --schema",
            is_file=True,
        ),
    ),
    Option(
        "docstrings",
        _choice_kind(Docstrings),
        "Texts about types and members: none, ours, or those of --schema.",
        "--docstrings",
        default="ours",
        record=_record_docstrings,
        unlock=_unlock_docstrings,
    ),
    Option(
        "patches",
        ValueKind(list[str], readers.read_patches, _NAMED_FILE),
        "Your corrections, applied to schemas after ours. Repeat it for others.",
        "--patches",
        record=_record_own("patches"),
    ),
    Option(
        "templates",
        ValueKind(Path, readers.read_path, "DIR"),
        "Folder of templates that replace built-in ones.",
        "--templates",
        record=_record_own("templates"),
        of="whole",
    ),
    Option(
        "runtime",
        _text("MODULE"),
        "An installed runtime to import; copy: put a copy into the package.",
        "--runtime",
        record=attrgetter("runtime"),
        unlock=_unlock_runtime,
        of="whole",
    ),
    _alone_option(
        "layers",
        _texts("LAYER"),
        "Types and tables alone, without a runtime: models, methods, capabilities. Repeat it, or"
        " separate names by commas.",
        "only",
    ),
    _alone_option(
        "target", _text("NAME"), "Kind of types and tables alone; by default only models."
    ),
    _alone_option(
        "layout",
        _literal_kind("LayoutName", LAYOUTS),
        "With a target: one module for each revision, or a package with folders.",
    ),
    _alone_option(
        "base_class", _text("MODULE:CLASS"), "With a target: the class that all models extend."
    ),
    _alone_option(
        "extra",
        _literal_kind("ExtraName", EXTRAS),
        "With a target: what happens to undeclared members of types that are not open.",
    ),
    _alone_option("root_models", _SWITCH, "With a target: aliases are classes around a value."),
    _alone_option(
        "inline_objects",
        _SWITCH,
        "With a target: keep objects without a name in the published types inline.",
    ),
    _alone_option(
        "types_only", _SWITCH, "With a target: types and constants alone, without a validator."
    ),
    _alone_option(
        "quotes", _literal_kind("QuotesName", QUOTES), "With a target: the quotes around strings."
    ),
    Option(
        "names",
        _FILE,
        "Your names for types, members and modules, and which types are open.",
        "--names",
        heading=ALONE,
        record=_record_names,
    ),
    Option("format", _choice_kind(Format), "Format of the report.", "--format", heading=None),
    Option(
        "own",
        ValueKind(None, readers.read_texts),
        "Patterns of your files in the output folder; `--check` does not report them.",
        "",
        ("own",),
    ),
    Option(
        "clients",
        ValueKind(None, readers.read_clients),
        "A table for each typed client, by its name; `server` and `out` are required.",
        "",
        ("clients",),
    ),
)
"""All options, in the order of the help."""

BY_FIELD: Final[Mapping[str, Option]] = {option.field: option for option in OPTIONS}
MODES: Final = ("check", "diff", "dry-run")
"""The modes that do not write, each with a switch of that name."""

MODE_CONSTRAINTS: Final = (
    OptionConstraint("--check", excludes=("--diff", "--dry-run")),
    OptionConstraint("--diff", excludes=("--dry-run",)),
    OptionConstraint("--regenerate", needs=("--check",)),
)
BY_KEY: Final[Mapping[str, Option]] = {
    key: option for option in OPTIONS for key in option.setting_names
}


def is_whole(options: Mapping[str, Any]) -> bool:
    """Return whether the options of a lock are those of a whole package."""
    return "target" not in options


def locked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the locked values of options, by field.

    Raise `TypeError` or `ValueError` for unknown values.
    """
    of = "whole" if is_whole(options) else "alone"
    found = {
        option.field: option.unlock(options.get(option.name))
        for option in OPTIONS
        if option.unlock and option.of in ("", of)
    }
    return {field: value for field, value in found.items() if value is not None}
