"""Shells complete names from the server itself, if it was used before."""

import os
import shutil
import subprocess
from pathlib import Path
from shlex import quote
from typing import Any

import pytest
from mcp_protogen.calling import completing, remembered
from mcp_protogen.calling.completing import Word, fitting
from mcp_protogen.calling.kinds import Kind
from mcp_protogen.cli.bash_words import rejoin
from mcp_protogen.connecting.server_target import ServerTarget
from support.missing import untested
from support.running import Run
from support.tables import case

SHOP = "shop.py"

COMPLETED: dict[str, tuple[str, list[str]]] = {
    "tools": ("call shop.py ", [*("greet", "order", "fail", "shout", "refuse", "choose", "dig")]),
    "a tool": ("call shop.py gr", ["greet"]),
    "arguments": ("call shop.py greet ", ["name=", "times="]),
    "arguments that are left": ("call shop.py greet name=x ", ["times="]),
    "values": ("call shop.py order kind=", ["kind=tea", "kind=coffee"]),
    "a value": ("call shop.py order kind=t", ["kind=tea"]),
    "an array again": ("call shop.py order kind=tea sizes=1 ", ["sizes="]),
    "no tool": ("call shop.py none ", []),
    "resources": ("read shop.py memo://t", ["memo://today"]),
    "a template's names": ("read shop.py memo://{day}/list ", ["day="]),
    "prompts": ("prompt shop.py ", ["invite"]),
    "a prompt's arguments": ("prompt shop.py invite ", ["guest="]),
    "no server": ("call ", []),
}


@pytest.fixture
def complete(mcp_gen: Run, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Asks for what a line may go on with, as fish does."""

    def ask(line: str) -> list[str]:
        found = answered(mcp_gen, monkeypatch, "fish", line).splitlines()
        return [one.partition("\t")[0] for one in found if one]

    return ask


def answered(mcp_gen: Run, monkeypatch: pytest.MonkeyPatch, shell: str, line: str) -> str:
    """What a shell is answered that asks for what a line may go on with."""
    monkeypatch.setenv("_MCP_GEN_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", f"mcp-gen {line}")
    out = mcp_gen().out
    monkeypatch.delenv("_MCP_GEN_COMPLETE")
    return out


@pytest.fixture
def fresh(
    kept: None, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Has nothing be remembered, but the package of the protocol."""
    del kept
    from mcp_protogen.connecting.protocol import protocol

    protocol()
    monkeypatch.setenv("MCP_GEN_CACHE", str(tmp_path_factory.mktemp("cache")))


def test_only_servers_that_were_used_are_asked(
    fresh: None, opened: list[str], mcp_gen: Run, complete: Any
) -> None:
    assert complete("call shop.py ") == [] and opened == []
    assert mcp_gen("call", SHOP, "gret").code == 2
    assert complete("call shop.py ") == [], "no command was completed yet"
    assert mcp_gen("call", SHOP, "greet").code == 0
    assert "greet" in complete("call shop.py ")
    assert complete("call other.py ") == []
    assert complete("call shop.py --cwd /tmp ") == []
    assert {*opened} == {SHOP}


def test_names_arguments_and_values_are_completed(
    fresh: None, opened: list[str], mcp_gen: Run, complete: Any
) -> None:
    mcp_gen("list", SHOP)
    for name, (line, words) in COMPLETED.items():
        with case(name):
            assert complete(line)[: len(words)] == words
            assert words or complete(line) == []
    assert opened == [SHOP] + [SHOP] * opened[1:].count(SHOP)


def test_lists_are_asked_for_again_when_they_are_old(
    fresh: None, opened: list[str], mcp_gen: Run, complete: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    for module in (completing, remembered):
        monkeypatch.setattr(module, "time", lambda: now[0])
    mcp_gen("list", SHOP)
    complete("call shop.py ")
    assert len(opened) == 1
    now[0] += 61
    assert "greet" in complete("call shop.py ")
    assert len(opened) == 2
    complete("call shop.py ")
    assert len(opened) == 2


def test_a_server_that_is_away_is_completed_from_what_it_last_said(
    fresh: None, opened: list[str], mcp_gen: Run, complete: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    mcp_gen("list", SHOP)

    def gone(target: ServerTarget) -> object:
        async def fail() -> object:
            raise ConnectionError("gone")

        return fail

    monkeypatch.setattr(ServerTarget, "opener", gone)
    monkeypatch.setattr(completing, "time", lambda: 1e12)
    assert "greet" in complete("call shop.py ")


def test_what_a_shell_could_act_on_is_never_offered() -> None:
    names = (
        "a",
        "-a",
        "--a=b",
        "a;b",
        "a b",
        "$(x)",
        "a`b`",
        "a'b",
        "a\nb",
        "a\x1b",
        "a&b",
        "a(b)",
        "a!",
        "\u202ea",
    )
    words = [Word(name, "It's $(x) `y` \\$(z); (ok)\n: [a]") for name in names]
    assert fitting(words, "") == [Word("a", "It s x y z ok a")]


def test_too_much_is_not_remembered(fresh: None) -> None:
    target = ServerTarget(name=SHOP)
    remembered.remember(target, {Kind.TOOLS: [{"name": "x" * 600_000}]})
    assert remembered.remembered(target) == {}


def test_another_program_of_the_same_name_in_a_file_is_another_server(
    fresh: None, tmp_path: Any
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"a": {"command": "one"}}}')
    target = ServerTarget(name="a", config=file)
    remembered.remember(target, {})
    assert remembered.remembered(target) == {}
    file.write_text('{"mcpServers": {"a": {"command": "two"}}}')
    assert remembered.remembered(target) is None


LINES = {
    "read shop.py memo://t": "memo://today",
    "call shop.py order kind=t": "kind=tea",
    "call shop.py greet ti": "times=",
    "call --revision 2025-11": "2025-11-25",
}
END = "@end@\n"
# What a terminal shows does not come all at once: -r waits until the word is whole.
ZSH = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; autoload -Uz compinit; compinit -u -D; source $1; print BE''GUN"
zpty -r -m shell shown '*BEGUN*'
complete() {
  zpty -w -n shell "$1"$'\\t'
  zpty -r -m shell shown "*$2*"
  print -r -- "$shown$3"
  zpty -w -n shell $'\\x15'
}
"""


@pytest.mark.parametrize("shell", ["fish", "zsh"])
def test_a_shell_completes_what_it_is_answered(
    shell: str,
    fresh: None,
    opened: list[str],
    mcp_gen: Run,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    if shutil.which(shell) is None:
        untested(shell, "how it completes names of servers")
    mcp_gen("list", SHOP)
    said = {line: answered(mcp_gen, monkeypatch, shell, line) for line in LINES}
    cases = [f"{quote(f'mcp-gen {line}')}) printf %s {quote(one)};;" for line, one in said.items()]
    program, script = tmp_path / "mcp-gen", tmp_path / "script"
    lines = ["#!/bin/sh", 'case "$_TYPER_COMPLETE_ARGS" in', *cases, "esac"]
    program.write_text("\n".join(lines))
    program.chmod(0o755)
    monkeypatch.setenv("_MCP_GEN_COMPLETE", f"source_{shell}")
    script.write_text(mcp_gen().out)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    shown = (shown_by_fish if shell == "fish" else shown_by_zsh)(script)
    for (line, expected), one in zip(LINES.items(), shown, strict=True):
        with case(line):
            assert expected in one


def shown_by_fish(script: Path) -> list[str]:
    lines = [f"complete -C {quote(f'mcp-gen {line}')}; echo {END.strip()}" for line in LINES]
    return shown_by("fish", "--no-config", "-c", "\n".join([f"source {script}", *lines]))


def shown_by_zsh(script: Path) -> list[str]:
    lines = [
        f"complete {quote(f'mcp-gen {line}')} {quote(word)} '\n{END.strip()}'"
        for line, word in LINES.items()
    ]
    return shown_by("zsh", "-f", "-c", "\n".join([ZSH, *lines]), "zsh", str(script))


def shown_by(*command: str) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    return done.stdout.split(END)[:-1]


BASH: dict[str, tuple[str, int, str, int, str]] = {
    "a value": ("mcp-gen call s.py t name = va", 6, "mcp-gen call s.py t va", 4, "name="),
    "no value yet": ("mcp-gen call s.py t name =", 5, "mcp-gen call s.py t ''", 4, "name="),
    "a URL": ("mcp-gen call http : //h : 1/x gr", 7, "mcp-gen call http://h:1/x gr", 3, ""),
    "in a URL": ("mcp-gen read s.py memo : //t", 5, "mcp-gen read s.py //t", 3, "memo:"),
    "words in quotes": ("mcp-gen call 'a b' x", 3, "mcp-gen call 'a b' x", 3, ""),
    "the next word": ("mcp-gen call s.py ", 3, "mcp-gen call s.py ''", 3, ""),
}


def test_words_that_bash_takes_apart_are_put_together() -> None:
    for name, (words, place, joined, at, cut) in BASH.items():
        with case(name):
            variables = {"COMP_WORDS": words, "COMP_CWORD": str(place)}
            rejoin(variables)
            assert variables["COMP_WORDS"] == joined
            assert (variables["COMP_CWORD"], variables["_MCP_GEN_COMPLETE_CUT"]) == (str(at), cut)
    untouched: dict[str, str] = {}
    rejoin(untouched)
    assert untouched == {}


def test_bash_gets_what_it_puts_in(
    fresh: None, opened: list[str], mcp_gen: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    mcp_gen("list", SHOP)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    for words, place, offered in (
        ("mcp-gen call shop.py order kind =", 5, "tea\ncoffee"),
        ("mcp-gen call shop.py order kind = c", 6, "coffee"),
        ("mcp-gen read shop.py memo : //to", 5, "//today"),
    ):
        with case(words):
            os.environ |= {"COMP_WORDS": words, "COMP_CWORD": str(place)}
            os.environ["_MCP_GEN_COMPLETE"] = "complete_bash"
            assert mcp_gen().out.strip() == offered
