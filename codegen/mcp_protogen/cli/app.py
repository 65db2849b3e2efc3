"""The options, subcommands, help and completion of the command line, declared with Typer.

Commands import what they need when they run: `--help` must not pay for generating.
"""

# The parameters of a command function are its command line; there is no other way to declare one,
# so the bound on the number of parameters does not hold here.

import typer

from mcp_protogen.cli.audit import audit
from mcp_protogen.cli.bridge import bridge
from mcp_protogen.cli.call import call
from mcp_protogen.cli.catalogues import extensions, revisions
from mcp_protogen.cli.client import client
from mcp_protogen.cli.diff import diff
from mcp_protogen.cli.explain import explain
from mcp_protogen.cli.generate import generate
from mcp_protogen.cli.inspect import inspect_server
from mcp_protogen.cli.list import list_server
from mcp_protogen.cli.new import new
from mcp_protogen.cli.prompt import prompt
from mcp_protogen.cli.read import read
from mcp_protogen.cli.schema import schema_app
from mcp_protogen.cli.sync import sync
from mcp_protogen.cli.templates import templates_app
from mcp_protogen.cli.update import update
from mcp_protogen.cli.usage import Command, Group
from mcp_protogen.cli.vectors import vectors

app = typer.Typer(
    name="mcp-gen",
    cls=Group,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.callback(invoke_without_command=True)(generate)
app.add_typer(schema_app, name="schema")
app.add_typer(templates_app, name="templates")
app.command(cls=Command)(audit)
app.command(cls=Command)(bridge)
app.command(cls=Command)(call)
app.command(cls=Command)(client)
app.command(cls=Command)(diff)
app.command(cls=Command)(explain)
app.command(cls=Command)(extensions)
app.command("inspect", cls=Command)(inspect_server)
app.command("list", cls=Command)(list_server)
app.command(cls=Command)(new)
app.command(cls=Command)(prompt)
app.command(cls=Command)(read)
app.command(cls=Command)(revisions)
app.command(cls=Command)(sync)
app.command(cls=Command)(update)
app.command(cls=Command)(vectors)
