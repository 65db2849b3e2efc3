"""Options of the command line from the table of settings."""

from collections.abc import Callable
from enum import Enum
from inspect import Parameter
from typing import Annotated, Any, Final, TypeVar, cast

import typer

from mcp_protogen.base.option_constraints import conflict
from mcp_protogen.cli import completion
from mcp_protogen.cli.option_groups import expand_groups
from mcp_protogen.pipeline.options import ALONE, OPTIONS, Option
from mcp_protogen.pipeline.setting_readers import revision_and_file
from mcp_protogen.pipeline.settings import Settings

T = TypeVar("T")

_COMPLETIONS: Final = {
    "revisions": completion.revision,
    "parts": completion.part,
    "extensions": completion.extension,
    "layers": completion.layer,
    "target": completion.target,
}
_DECLARED: Final = tuple(option for option in OPTIONS if option.flag)


def with_settings(*fields: str) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Return a decorator that replaces the parameter `flags` by options of settings.

    `fields` chooses them; default: all. Those for types and tables alone come last.
    """
    options = [option for option in _DECLARED if option.field in fields or not fields]
    last = {option.field for option in options if option.heading == ALONE}
    groups = {"flags": [*map(_parameter, options)]}
    return lambda command: expand_groups(command, groups, lambda _, given: _settings(given), last)


def _parameter(one: Option) -> Parameter:
    declared = typer.Option(
        one.flag,
        metavar=one.kind.metavar,
        rich_help_panel=one.heading,
        help=one.help,
        show_default=one.default,
        autocompletion=_COMPLETIONS.get(one.field),
        readable=False,  # checked when the folder is read
    )
    annotated: Any = Annotated  # type checkers reject types that are only known at run time
    annotation = annotated[one.kind.type | None, declared]
    return Parameter(one.field, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _settings(options: dict[str, Any]) -> Settings:
    values = {field: _plain(value) for field, value in options.items() if value not in (None, [])}
    if "patches" in values:
        values["patches"] = tuple(map(revision_and_file, values["patches"]))
    schemas = [revision_and_file(text) for text in values.pop("schemas", ())]
    unnamed = [schema.source for schema in schemas if not schema.revision]
    named = dict(schema for schema in schemas if schema.revision)
    if len(unnamed) > 1 or len(unnamed) + len(named) < len(schemas):
        raise conflict("--schema is given twice for one revision; write --schema REVISION=FILE")
    return Settings(**values, schema=next(iter(unnamed), None), schemas=named or None)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(cast("list[str]", value))
    return value.value if isinstance(value, Enum) and not isinstance(value, str) else value
