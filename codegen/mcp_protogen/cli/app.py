"""The commands of `mcp-gen`, by the sections of its help; each is imported on demand."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final

import typer
from typer.main import get_command

from mcp_protogen import __version__
from mcp_protogen.cli.console import say
from mcp_protogen.cli.options import Debug
from mcp_protogen.cli.usage import CliCommand, CliGroup

_Declared = Callable[..., None] | typer.Typer
_DEFAULT_COMMAND: Final = "generate"
_TOP_LEVEL_OPTIONS: Final = frozenset({"--", "--help", "-h", "--version"})
_COMPLETION_OPTIONS: Final = ("--install-completion", "--show-completion")


def _load_package_command(name: str) -> _Declared | None:
    match name:
        case "generate":
            from mcp_protogen.cli.generate import generate

            return generate
        case "sync":
            from mcp_protogen.cli.sync import sync

            return sync
        case "revisions":
            from mcp_protogen.cli.catalogues import revisions

            return revisions
        case "extensions":
            from mcp_protogen.cli.catalogues import extensions

            return extensions
        case "templates":
            from mcp_protogen.cli.templates import templates_app

            return templates_app
        case "explain":
            from mcp_protogen.cli.explain import explain

            return explain
        case _:
            return None


def _load_own_server_command(name: str) -> _Declared | None:
    match name:
        case "new":
            from mcp_protogen.cli.new import new

            return new
        case "dev":
            from mcp_protogen.cli.dev import dev

            return dev
        case "inspect":
            from mcp_protogen.cli.inspect import inspect_server

            return inspect_server
        case _:
            return None


def _load_client_command(name: str) -> _Declared | None:
    match name:
        case "list":
            from mcp_protogen.cli.list import list_server

            return list_server
        case "call":
            from mcp_protogen.cli.call import call

            return call
        case "read":
            from mcp_protogen.cli.read import read

            return read
        case "prompt":
            from mcp_protogen.cli.prompt import prompt

            return prompt
        case "client":
            from mcp_protogen.cli.client import client

            return client
        case "bridge":
            from mcp_protogen.cli.bridge import bridge

            return bridge
        case "gateway":
            from mcp_protogen.cli.gateway import gateway

            return gateway
        case _:
            return None


def _load_specification_command(name: str) -> _Declared | None:
    match name:
        case "diff":
            from mcp_protogen.cli.diff import diff

            return diff
        case "update":
            from mcp_protogen.cli.update import update

            return update
        case "schema":
            from mcp_protogen.cli.schema import schema_app

            return schema_app
        case "vectors":
            from mcp_protogen.cli.vectors import vectors

            return vectors
        case "audit":
            from mcp_protogen.cli.audit import audit

            return audit
        case _:
            return None


_SECTIONS: Final[Mapping[str, tuple[Sequence[str], Callable[[str], _Declared | None]]]] = {
    "Generate and keep": (
        ("generate", "sync", "revisions", "extensions", "templates", "explain"),
        _load_package_command,
    ),
    "Your servers": (("new", "dev", "inspect"), _load_own_server_command),
    "Servers of others": (
        ("list", "call", "read", "prompt", "client", "bridge", "gateway"),
        _load_client_command,
    ),
    "The specification": (
        ("diff", "update", "schema", "vectors", "audit"),
        _load_specification_command,
    ),
}
"""The commands of each section of the help, and the function that imports one of them."""


class _Commands(CliGroup):
    """All commands; the word `generate` may be left out."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        return command_names()

    def sections(self, ctx: Any) -> Mapping[str, Sequence[str]]:
        """Return the names of the commands by the headings of the help."""
        return {heading: names for heading, (names, _) in _SECTIONS.items()}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; None if it is unknown."""
        declared = load_declaration(cmd_name)
        return None if declared is None else _build_command(cmd_name, declared)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; without a command, they are those of `generate`."""
        first = next((index for index, word in enumerate(args) if word != "--debug"), len(args))
        option = args[first] if first < len(args) else ""
        is_global = option in _TOP_LEVEL_OPTIONS or option.startswith(_COMPLETION_OPTIONS)
        unnamed = option.startswith("-") and not is_global if option else not ctx.resilient_parsing
        if unnamed:
            args = [*args[:first], _DEFAULT_COMMAND, *args[first:]]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return completions of a word: commands, options, and options of `generate`."""
        completions: list[Any] = super().shell_complete(ctx, incomplete)
        default = self.get_command(ctx, _DEFAULT_COMMAND)
        of_default: list[Any] = default.shell_complete(ctx, incomplete)
        values = {item.value for item in completions}
        return [*completions, *(item for item in of_default if item.value not in values)]


app = typer.Typer(
    name="mcp-gen",
    cls=_Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        say(f"mcp-gen {__version__}\n")
        raise typer.Exit


@app.callback()
def mcp_gen(
    debug: Debug = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Generate typed Python packages for the Model Context Protocol, and keep them up to date.

    The word `generate` may be left out: mcp-gen --revision 2025-11-25 --out pkg/
    """


def command_names() -> list[str]:
    """Return the names of all commands, in the order of the help."""
    return [name for names, _ in _SECTIONS.values() for name in names]


def load_declaration(name: str) -> _Declared | None:
    """Import the function or group that declares a command; return None if it is unknown."""
    return next((load(name) for names, load in _SECTIONS.values() if name in names), None)


def _build_command(name: str, declared: _Declared) -> Any:
    if isinstance(declared, typer.Typer):
        group = get_command(declared)
        group.name = name
        return group
    alone = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    alone.command(name, cls=CliCommand)(declared)
    return get_command(alone)
