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


_SECTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "Generate and keep": {
        "generate": "generate.generate",
        "sync": "sync.sync",
        "revisions": "catalogues.revisions",
        "extensions": "catalogues.extensions",
        "templates": "templates.templates_app",
        "explain": "explain.explain",
    },
    "Your servers": {"new": "new.new", "inspect": "inspect.inspect_server"},
    "Servers of others": {
        "list": "list.list_server",
        "call": "call.call",
        "read": "read.read",
        "prompt": "prompt.prompt",
        "client": "client.client",
        "bridge": "bridge.bridge",
        "gateway": "gateway.gateway",
    },
    "The specification": {
        "diff": "diff.diff",
        "update": "update.update",
        "schema": "schema.schema_app",
        "vectors": "vectors.vectors",
        "audit": "audit.audit",
    },
}
"""The commands of each section of the help, with the module and the name that declare them."""


class _Commands(CliGroup):
    """All commands; the word `generate` may be left out."""

    def list_commands(self, ctx: Any) -> list[str]:
        return command_names()

    def sections(self, ctx: Any) -> Mapping[str, Sequence[str]]:
        return {heading: [*commands] for heading, commands in _SECTIONS.items()}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
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
    return [name for commands in _SECTIONS.values() for name in commands]


def load_declaration(name: str) -> _Declared | None:
    """Import the function or group that declares a command; return None if it is unknown."""
    place = next((found[name] for found in _SECTIONS.values() if name in found), None)
    if place is None:
        return None
    module, _, attribute = place.partition(".")
    declared: _Declared = getattr(import_module(f"mcp_protogen.cli.{module}"), attribute)
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
