"""Runs of `mcp-gen generate`, from settings to exit code."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from mcp_protogen.cli.outcome import attempt, finish
from mcp_protogen.pipeline.settings import Settings, load_settings

_SWITCHES = frozenset({"--check", "--force", "--no-cache"})


def run(
    mode: str, flags: Settings, *, force: bool = False, cached: bool = True, quiet: bool = False
) -> NoReturn:
    """Run a mode with flags over settings, show the report, and end the process.

    A mode is "generate", "check", "regenerate" (a check that generates), "diff" or "dry-run".
    """
    from mcp_protogen.pipeline.commands import perform

    command = "check" if mode == "regenerate" else mode
    settings = attempt(
        lambda: flags.merge_over(load_settings(Path.cwd(), flags)),
        command,
        flags.format,
        place=str(flags.out or ""),
    )
    finish(
        lambda: perform(mode, settings, force=force, cached=cached),
        command,
        settings.format,
        place=str(settings.out or ""),
        quiet=quiet,
        doing="" if mode == "check" else "generating",
    )


class Plain(NamedTuple):
    """A command line with only the usual options."""

    mode: str
    flags: Settings
    force: bool
    cached: bool


def parse_plain_command(arguments: Sequence[str]) -> Plain | None:
    """Read a command line with revisions, `--out DIR`, `--check` and other usual options.

    Return None for every other command line.
    """
    values: dict[str, list[str]] = {"--out": [], "--revision": []}
    revisions: list[str] = []
    switches: set[str] = set()
    has_name = [*arguments[:1]] == ["generate"]
    words = iter(arguments[1:] if has_name else arguments)
    for argument in words:
        if argument in values:
            values[argument].append(next(words, "-"))
        elif argument in _SWITCHES:
            switches.add(argument)
        elif has_name and (argument == "all" or argument[:1].isdigit()):
            # Other words may be names of commands, for which there is advice.
            revisions.append(argument)
        else:
            return None
    revisions += values["--revision"]
    texts = [*revisions, *values["--out"]]
    if not all(map(is_value, texts)) or len(values["--out"]) > 1:
        return None
    if not values["--out"] and "--check" not in switches:
        return None
    out = Path(values["--out"][0]) if values["--out"] else None
    flags = Settings(revisions=tuple(revisions) or None, out=out)
    mode = "check" if "--check" in switches else "generate"
    return Plain(mode, flags, "--force" in switches, "--no-cache" not in switches)


def is_value(argument: str) -> bool:
    """Return whether an argument is a value: neither empty nor an option."""
    return bool(argument) and not argument.startswith("-")
