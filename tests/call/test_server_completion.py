"""Shells complete names from a server that was used before."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from shlex import quote
from typing import Any

import pytest
from mcp_protogen.cli.bash_words import rejoin
from mcp_protogen.servers.call import completing, list_cache
from mcp_protogen.servers.call.completing import CompletionWord, fitting, tool_arguments
from mcp_protogen.servers.call.kinds import Kind
from mcp_protogen.servers.connect.named_server import NamedServer
from support.calling.terminals import play_script
from support.missing import skip_untested
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
        found = complete_line(mcp_gen, monkeypatch, "fish", line).splitlines()
        return [word.partition("\t")[0] for word in found if word]

    return ask


def complete_line(mcp_gen: Run, monkeypatch: pytest.MonkeyPatch, shell: str, line: str) -> str:
    """Return the completions of a line for a shell."""
    words = cut_by_bash(line)
    asked = {
        "_MCP_GEN_COMPLETE": f"complete_{shell}",
        "_MCP_GEN_COMPLETE_CUT": "",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_ARGS": f"mcp-gen {line}",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    with monkeypatch.context() as patched:
        for name, value in asked.items():
            patched.setenv(name, value)
        return mcp_gen().out


def cut_by_bash(line: str) -> str:
    """Split a line into words as bash does."""
    return f"mcp-gen {line}".replace("=", " = ").replace(":", " : ")


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Forget all remembered servers."""
    monkeypatch.setenv("MCP_GEN_CACHE", str(tmp_path_factory.mktemp("cache")))


def test_only_servers_that_were_used_are_asked(
    fresh: None, opened_servers: list[str], mcp_gen: Run, complete: Any
) -> None:
    assert complete("call shop.py ") == [] and opened_servers == []
    assert mcp_gen("call", SHOP, "gret").code == 2
    assert complete("call shop.py ") == [], "no command was completed yet"
    assert mcp_gen("call", SHOP, "greet").code == 0
    assert "greet" in complete("call shop.py ")
    assert complete("call other.py ") == []
    assert complete("call shop.py --cwd /tmp ") == []
    assert {*opened_servers} == {SHOP}


def test_names_arguments_and_values_are_completed(
    fresh: None, opened_servers: list[str], mcp_gen: Run, complete: Any
) -> None:
    mcp_gen("list", SHOP)
    for name, (line, words) in COMPLETED.items():
        with case(name):
            assert complete(line)[: len(words)] == words
            assert words or complete(line) == []
    assert opened_servers == [SHOP] + [SHOP] * opened_servers[1:].count(SHOP)


def test_lists_are_asked_for_again_when_they_are_old(
    fresh: None,
    opened_servers: list[str],
    mcp_gen: Run,
    complete: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1000.0]
    for module in (completing, list_cache):
        monkeypatch.setattr(module, "time", lambda: now[0])
    mcp_gen("list", SHOP)
    complete("call shop.py ")
    assert len(opened_servers) == 1
    now[0] += 61
    assert "greet" in complete("call shop.py ")
    assert len(opened_servers) == 2
    complete("call shop.py ")
    assert len(opened_servers) == 2


def test_a_server_that_is_away_is_completed_from_what_it_last_said(
    fresh: None,
    opened_servers: list[str],
    mcp_gen: Run,
    complete: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mcp_gen("list", SHOP)

    def raise_gone(server: NamedServer) -> object:
        async def fail() -> object:
            raise ConnectionError("gone")

        return fail

    monkeypatch.setattr(NamedServer, "opener", raise_gone)
    monkeypatch.setattr(completing, "time", lambda: 1e12)
    assert "greet" in complete("call shop.py ")


def test_words_with_shell_syntax_are_not_offered() -> None:
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
    words = [CompletionWord(name, "It's $(x) `y` \\$(z); (ok)\n: [a]") for name in names]
    assert fitting(words, "") == [CompletionWord("a", "It s x y z ok a")]


def test_a_name_that_only_json_can_give_is_not_offered() -> None:
    schema = {"properties": {"a=b": {"type": "string"}, "c": {"type": "string"}}}
    assert [*tool_arguments({"inputSchema": schema}, ())] == [CompletionWord("c=")]


def test_too_much_is_not_remembered(fresh: None) -> None:
    server = NamedServer(name=SHOP)
    list_cache.remember(server, {Kind.TOOLS: [{"name": "x" * 600_000}]})
    assert list_cache.recall(server) == {}


def test_another_program_of_the_same_name_in_a_file_is_another_server(
    fresh: None, tmp_path: Any
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"a": {"command": "one"}}}')
    server = NamedServer(name="a", config=file)
    list_cache.remember(server, {})
    assert list_cache.recall(server) == {}
    file.write_text('{"mcpServers": {"a": {"command": "two"}}}')
    assert list_cache.recall(server) is None


LINES = {
    "read shop.py memo://t": "memo://today ",
    "call shop.py order kind=t": "kind=tea ",
    "call shop.py order kind=tea": "kind=tea ",
    "call shop.py greet": "greet ",
    "call shop.py greet ti": "times=",
    "call shop.py greet times=": "times=",
    "call --revision 2025-11": "2025-11-25 ",
}
"""Lines, and what their last words become; without a space where a value follows."""
END = "@end@\n"
SHELLS = {
    "bash": (("bash", "--norc", "-i"), ""),
    "zsh": (("zsh", "-f", "-i"), "autoload -Uz compinit; compinit -u -D"),
}


@pytest.fixture
def script(
    request: pytest.FixtureRequest,
    fresh: None,
    opened_servers: list[str],
    mcp_gen: Run,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Path:
    """Return a shell's script, which gets real answers from a program at once."""
    shell = request.param
    old = shell == "bash" and sys.platform == "darwin"  # 3.2 splits lines differently
    if shutil.which(shell) is None or sys.platform == "win32" or old:
        skip_untested(shell, "how it completes names of servers")
    mcp_gen("list", SHOP)
    cases: list[str] = []
    for line in LINES:
        asked = cut_by_bash(line) if shell == "bash" else f"mcp-gen {line}"
        answer = complete_line(mcp_gen, monkeypatch, shell, line)
        cases.append(f"{quote(asked)}) printf %s {quote(answer)};;")
    program, script = tmp_path / "mcp-gen", tmp_path / "script"
    asked = 'case "${_TYPER_COMPLETE_ARGS:-$(echo $COMP_WORDS)}" in'
    program.write_text("\n".join(["#!/bin/sh", asked, *cases, '"") echo "ran: $*";;', "esac"]))
    program.chmod(0o755)
    monkeypatch.setenv("_MCP_GEN_COMPLETE", f"source_{shell}")
    script.write_text(mcp_gen().out)
    monkeypatch.delenv("_MCP_GEN_COMPLETE")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return script


@pytest.mark.parametrize("script", ["fish"], indirect=True)
def test_fish_offers_what_it_is_answered(script: Path) -> None:
    lines = [f"complete -C {quote(f'mcp-gen {line}')}; echo {END.strip()}" for line in LINES]
    command = ["fish", "--no-config", "-c", "\n".join([f"source {script}", *lines])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    for word, shown in zip(LINES.values(), done.stdout.split(END)[:-1], strict=True):
        with case(word):
            assert word.strip() in shown


@pytest.mark.parametrize(
    ("shell", "script"),
    [(shell_name, shell_name) for shell_name in SHELLS],
    indirect=["script"],
    ids=SHELLS,
)
def test_after_a_completed_word_a_user_types_on(shell: str, script: Path) -> None:
    command, setup = SHELLS[shell]
    script.write_text(f"PS1='@ '\n{setup}\n{script.read_text()}")
    typed = [("! ", f"source {script}\n")]
    typed += [("@ ", f"mcp-gen {line}\t5\n") for line in LINES]
    env = {**os.environ, "TERM": "dumb", "PS1": "! "}
    path = shutil.which(shell)
    assert path is not None
    shown = play_script([path, *command[1:]], [*typed, ("@ ", "exit\n")], env)
    for line, word in LINES.items():
        with case(line):
            assert f"ran: {line.rpartition(' ')[0]} {word}5" in shown


BASH: dict[str, tuple[str, int, str, int, str]] = {
    "a value": ("mcp-gen call s.py t name = va", 6, "mcp-gen call s.py t va", 4, "name="),
    "no value yet": ("mcp-gen call s.py t name =", 5, "mcp-gen call s.py t ''", 4, "name="),
    "a URL": ("mcp-gen call http : //h : 1/x gr", 7, "mcp-gen call http://h:1/x gr", 3, ""),
    "in a URL": ("mcp-gen read s.py memo : //t", 5, "mcp-gen read s.py //t", 3, "memo:"),
    "words in quotes": ("mcp-gen call 'a b' x", 3, "mcp-gen call 'a b' x", 3, ""),
    "a break as the first word": ("mcp-gen = x", 2, "mcp-gen x", 1, "="),
    "words after the cursor": ("mcp-gen call s.py t", 2, "mcp-gen call s.py", 2, ""),
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
    fresh: None, opened_servers: list[str], mcp_gen: Run, monkeypatch: pytest.MonkeyPatch
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
