"""The usage texts of the command line, and wrong usage as a problem."""

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.cli.console import tell

NAME = "mcp-gen"
WRONG_USE = 2
_WHOLE = 1000  # more characters than any first sentence of a help has

# Typer has its own Click since 0.26, and only this class of either is public.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
# Around choices; versions of Typer use different ones.
_BRACKETS = re.compile(r" [<\[](.+)[>\]]$")


class HelpWanted(Exception):
    """Raised with the text of a help to show, because the command line is empty."""


class CliCommand(TyperCommand):
    """A command with a usage in our format."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return _pieces(self, ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _attach_context(ctx):
            return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_parameters(self, ctx, formatter)


class CliGroup(TyperGroup):
    """A group of commands, which may be a command itself."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return _pieces(self, ctx) if self.invoke_without_command else ["COMMAND ..."]

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx))

    def sections(self, ctx: Any) -> Mapping[str, Sequence[str]]:
        return {"Commands": self.list_commands(ctx)}

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        super().format_usage(ctx, formatter)
        if self.invoke_without_command:
            formatter.write_usage(ctx.command_path, "COMMAND ...", prefix=" " * len("Usage: "))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections = self.sections(ctx)
        width = max(len(name) for names in sections.values() for name in names)
        for heading, names in sections.items():
            commands = ((name, self.get_command(ctx, name)) for name in names)
            rows = [(f"{n:<{width}}", c.get_short_help_str(_WHOLE)) for n, c in commands if c]
            with formatter.section(heading):
                formatter.write_dl(rows)
        _write_parameters(self, ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not self.invoke_without_command and not ctx.resilient_parsing:
            raise HelpWanted(ctx.get_help())
        with _attach_context(ctx):
            return super().parse_args(ctx, args)


def run_app(app: typer.Typer, arguments: list[str]) -> NoReturn:
    """Run a command, and end the process; raise `ProblemError` for wrong arguments."""
    try:
        code = app(arguments, prog_name=NAME, standalone_mode=False)
    except HelpWanted as wanted:
        # In a script this is a mistake, and must not pass for success; Click also ends with 2 here.
        tell(str(wanted))
        raise SystemExit(WRONG_USE) from None
    except _UsageError as error:
        raise ProblemError(_problem(error)) from error
    raise SystemExit(code if isinstance(code, int) else 0)


@contextmanager
def _attach_context(context: Any) -> Generator[None, None, None]:
    # Click's parser does not name the command in every error.
    try:
        yield
    except _UsageError as error:
        vars(error)["ctx"] = context
        raise


def _pieces(command: TyperCommand | TyperGroup, context: Any) -> list[str]:
    needed = (
        parameter
        for parameter in command.get_params(context)
        if _is_argument(parameter) or parameter.required
    )
    return ["[options]", *map(_spell, needed)]


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _spell(argument: Any) -> str:
    name: str = argument.metavar or argument.name.upper()
    name += "" if argument.nargs == 1 else " ..."
    if not _is_argument(argument):
        name = f"{argument.opts[0]} {name}"
    return name if argument.required else f"[{name}]"


def _write_parameters(command: TyperCommand | TyperGroup, context: Any, formatter: Any) -> None:
    rows: dict[str, list[tuple[str, str]]] = {"Arguments": []}
    plain: list[tuple[str, str]] = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and _is_argument(parameter):
            rows["Arguments"].append((_spell(parameter), record[1]))
        elif record is not None:
            panel = getattr(parameter, "rich_help_panel", None)
            listed = rows.setdefault(panel, []) if panel else plain
            listed.append((_BRACKETS.sub(r" \1", record[0]), record[1]))
    for heading, listed in {**rows, "Options": plain}.items():
        if listed:
            with formatter.section(heading):
                formatter.write_dl(listed)


def _problem(error: Any) -> Problem:
    text = " ".join(_message(error).split()).rstrip(".")
    message = text[:1].lower() + text[1:]
    command = error.ctx.command_path
    hint = f"{command} --help says more"
    if not isinstance(error.ctx.command, CliGroup):
        usage = " ".join(error.ctx.get_usage().split())
        hint = f"{usage[:1].lower()}{usage[1:]}; {hint}"
    return Problem("wrong-usage", message, command, hint=hint)


def _message(error: Any) -> str:
    # Newer versions of Typer read values with Pydantic.
    if error.__cause__ is not None:
        from pydantic import ValidationError

        from mcp_protogen.runtime.core.models.validation_errors import message_of

        if isinstance(error.__cause__, ValidationError):
            error.message = message_of(error.__cause__.errors(include_url=False)[0])
    return str(error.format_message())
