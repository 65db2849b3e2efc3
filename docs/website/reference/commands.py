"""The pages of commands, of the codes that they print, and of settings."""

import re
from collections.abc import Sequence

from mcp_protogen.cli.explanations import explanations
from mcp_protogen.pipeline.options import BY_KEY, Option

from website.markdown import cell, code, table
from website.reference.declared import Command, Parameter
from website.reference.declared import commands as declared


def commands() -> str:
    """Return the page of all commands with their arguments and options."""
    lines = [
        "# Reference: commands\n",
        "All commands, with their arguments and options; `--help` says the same. What they are for"
        " is in [the command](command.md) and in the pages of the commands.\n",
    ]
    for command in declared():
        lines += _command(command)
    return "\n".join(lines)


def codes() -> str:
    """Return the page of all codes, with the texts of `mcp-gen explain CODE`."""
    lines = [
        "# Reference: codes\n",
        "The codes of problems, changes and findings, as `mcp-gen explain CODE` explains them.\n",
    ]
    found = sorted(explanations().items())
    lines += (f"## `{code}` {{ #{code} }}\n\n{_escape(text)}\n" for code, text in found)
    return "\n".join(lines)


def settings() -> str:
    """Return the page of the settings in `pyproject.toml`."""
    rows = (_setting(name, setting) for name, setting in sorted(BY_KEY.items()))
    lines = [
        "# Reference: settings\n",
        "The settings in `[tool.mcp-gen]` of the nearest `pyproject.toml`. Options of the command"
        " line win over them. Paths are relative to that file, and lead below its folder.\n",
        table(("setting", "option", "what it is"), rows),
    ]
    return "\n".join(lines)


def _setting(name: str, one: Option) -> Sequence[str]:
    return f"`{name}`", code(one.spelled) if one.flag else "", _escape(cell(one.help))


def _command(one: Command) -> list[str]:
    lines = [f"## `{one.name}` {{ #{_anchor(one.name)} }}\n", f"{_escape(one.help)}\n"]
    if one.below:
        named = (f"[`{below}`](#{_anchor(f'{one.name} {below}')})" for below in one.below)
        lines.append(f"Commands: {', '.join(named)}.\n")
    if one.parameters:
        head = ("argument or option", "value", "default", "what it does")
        lines.append(table(head, map(_row, one.parameters)))
    return lines


def _row(one: Parameter) -> Sequence[str]:
    names = ", ".join(map(code, one.names))
    value = code(one.value) if one.value else ""
    return names, value, cell(one.default), _escape(cell(one.help))


def _anchor(name: str) -> str:
    return name.replace(" ", "-")


def _escape(text: str) -> str:
    """Return text of a terminal with escaped angle brackets, stars and lines."""
    return re.sub(r"(?<![\\`])([<*_])", r"\\\1", text)
