"""The commands of `mcp-gen`, by the sections of its help; each is imported on demand."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
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
_SECTIONS: Final[Mapping[str, Sequence[str]]] = {
    "Generate and keep": ("generate", "sync", "revisions", "extensions", "templates", "explain"),
    "Your servers": ("new", "inspect"),
    "Servers of others": ("list", "call", "read", "prompt", "client", "bridge", "gateway"),
    "The specification": ("diff", "update", "schema", "vectors", "audit"),
}
"""The commands of each section of the help."""
_DECLARATIONS: Final[Mapping[str, tuple[str, str]]] = {
    "extensions": ("catalogues", "extensions"),
    "inspect": ("inspect", "inspect_server"),
    "list": ("list", "list_server"),
    "revisions": ("catalogues", "revisions"),
    "schema": ("schema", "schema_app"),
    "templates": ("templates", "templates_app"),
}
"""The module and the name of a declaration, where these are not both the name of the command."""


class _Commands(CliGroup):
    """All commands; the word `generate` may be left out."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        return command_names()

    def sections(self, ctx: Any) -> Mapping[str, Sequence[str]]:
        """Return the names of the commands by the headings of the help."""
        return _SECTIONS

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
    return [name for names in _SECTIONS.values() for name in names]


def load_declaration(name: str) -> _Declared | None:
    """Import the function or group that declares a command; return None if it is unknown."""
    if name not in command_names():
        return None
    module, declaration = _DECLARATIONS.get(name, (name, name))
    declared: _Declared = getattr(import_module(f"mcp_protogen.cli.{module}"), declaration)
    return declared


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
