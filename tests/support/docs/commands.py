"""A check of shell lines on pages: commands and options must exist."""

import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

import typer.main
from mcp_protogen.cli.app import app
from mcp_protogen.scaffold.choices import ProjectChoices, ProjectKind, ProjectTransport
from mcp_protogen.scaffold.files import project_files
from mcp_protogen.scaffold.project_name import project_name
from support.folders import ROOT

# Commands that the reader has, or that the page installs; their options are unknown here.
OTHERS: Final = frozenset(
    {
        *("cd", "cp", "echo", "export", "git", "kill", "mkdir", "source", "systemctl"),
        *("node", "npm", "pip", "pipx", "pnpm", "pytest", "uv", "uvicorn", "uvx"),
        *("claude", "codex", "docker", "gh", "nuitka", "pyinstaller", "sha256sum"),
    }
)
_PROMPT: Final = re.compile(r"^\$ ")
# The explanation behind a command.
_REMARK: Final = re.compile(r"(?:\s+#(?:\s|$)| {3,}(?=[^\s-])).*$")
# Marks of optional parts and placeholders in a usage line.
_USAGE: Final = re.compile(r"[\[\]…|]|\.\.\.|\b[A-Z]{2,}\b")
# Reading these has an effect: one changes the files of the user's shell.
_ACTING: Final = frozenset({"--help", "--install-completion", "--show-completion", "--version"})
_OF_ALL: Final = _ACTING | {"-h", "--debug"}
_BETWEEN: Final = re.compile(r"\s*(?:&&|\||;)\s+")


def is_shell(text: str) -> bool:
    """Return whether each line of a text begins with a known program, or continues one."""
    first, *rest = text.replace("\\\n", " ").splitlines()
    begins = [first, *(line for line in rest if line.strip() and not line.startswith(" "))]
    return all(_program(words) in _KNOWN for line in begins for words in _split(line))


def faults(text: str, *, in_part: bool = False) -> Iterator[str]:
    """Yield the faults of typed shell lines, or of those that are quoted `in_part`."""
    command: list[str] = []
    for line in filter(str.strip, text.replace("\\\n", " ").splitlines()):
        if line.startswith(" "):  # Options that continue the line above.
            commands = [[*command[:2], *words] for words in _split(line)]
            usage = True
        else:
            commands = _split(line)
            usage = in_part or _USAGE.search(_REMARK.sub("", line)) is not None
            command = commands[-1]
        for words in commands:
            yield from (f"{line.strip()}: {fault}" for fault in _faults(words, usage))


def _split(line: str) -> list[list[str]]:
    """Return the words of each command of a line, without its variables."""
    line = _REMARK.sub("", _PROMPT.sub("", line)).strip().strip("()")
    line = re.sub(r"[\[\]]", "", line)
    found: list[list[str]] = []
    for command in _BETWEEN.split(line):
        words = shlex.split(re.sub(r"\s>>?\s\S+$", "", command), posix=True)
        while words and re.match(r"[A-Z_]+=", words[0]):
            words = words[1:]
        found.append(words)
    return found


def _program(words: Sequence[str]) -> str:
    program = words[0].rpartition("/")[2] if words else ""
    return "python" if re.fullmatch(r"python[\d.]*", program) else program


def _faults(words: Sequence[str], usage: bool) -> Iterator[str]:
    program, arguments = _program(words), list(words[1:])
    if program == "mcp-gen":
        yield from _mcp_gen(arguments, usage)
    elif program == "make":
        make_targets = [argument for argument in arguments if re.fullmatch(r"[a-z-]+", argument)]
        yield from (
            f"there is no make {make_target}"
            for make_target in make_targets
            if make_target not in _make_targets()
        )
    elif program == "python":
        files = [argument for argument in arguments if "/" in argument and argument.endswith(".py")]
        yield from (f"there is no {file}" for file in files if not (ROOT / file).exists())
    elif program not in OTHERS:
        yield f"{program} is not known: add it to OTHERS of {__name__}"


def _mcp_gen(arguments: list[str], usage: bool) -> Iterator[str]:
    command = _root()
    path = "mcp-gen"
    if arguments and arguments[0].startswith("-") and arguments[0] not in _OF_ALL:
        arguments = ["generate", *arguments]
    while arguments and (below := _below(command, arguments[0])) is not None:
        path, command = f"{path} {arguments[0]}", below
        arguments = arguments[1:]
    if hasattr(command, "commands") and re.match("[a-z]", " ".join(arguments)):
        yield f"{path} has no {arguments[0]}"
        return
    known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    known |= {"--help", "-h"}
    given = [argument.partition("=")[0] for argument in arguments if argument.startswith("-")]
    yield from (f"{path} has no {option}" for option in given if option not in known)
    if usage or set(given) - known or _ACTING.intersection(given):
        return
    try:
        command.make_context(path, arguments)
    except Exception as error:
        # Typer brings its own Click, so its errors have no class to name here.
        yield f"{type(error).__name__}: {getattr(error, 'message', error)}"


def _below(command: Any, name: str) -> Any:
    return command.get_command(None, name) if hasattr(command, "get_command") else None


@cache
def _root() -> Any:
    return typer.main.get_command(app)


@cache
def _make_targets() -> set[str]:
    made = ProjectChoices(
        project_name("x"), ProjectKind.SERVER, ProjectTransport.BOTH, "2025-11-25", ("2025-11-25",)
    )
    texts = ((ROOT / "Makefile").read_text("utf-8"), project_files(made)["Makefile"].decode())
    return {name for text in texts for name in re.findall(r"^([a-z-]+):.*##", text, re.MULTILINE)}


_KNOWN: Final = OTHERS | {"mcp-gen", "make", "python"}
