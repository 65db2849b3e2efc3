"""Hostile names and texts are printed as text, without escape sequences and commands."""

import json
import re
import sys
import unicodedata
from collections.abc import Iterator
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
from mcp_protogen.base.colours import Colour, paint
from mcp_protogen.base.printable import no_command, page, safe_line
from mcp_protogen.base.problems import Problem
from mcp_protogen.cli.console import colourful
from mcp_protogen.pipeline import commands
from support.running import Ran, Run
from support.unit import schemas

ACTING = "\x1b]0;owned\x07\x1b[31mred\r\x7f\x85\x9b2J\u2028\u2029\u202e\u2066\u200b\U000e0041\u2800"
COMMAND = "::warning file=x::owned"
OLD_COMMAND = "##[error]owned"
HARM = f"{COMMAND}\n{COMMAND}\n \t{COMMAND} {OLD_COMMAND} ##vso[task.x] {ACTING}"
FILE = HARM.replace("/", "").encode(errors="ignore").decode()

_ANNOTATION = re.compile(r"::(error|warning|notice) (file=[^:,]*,)?title=[^:,]*::")
_CONTROLS = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_BLANKS = re.compile(
    "VARIATION SELECTOR|HANGUL.*FILLER|GRAPHEME JOINER|VOWEL INHERENT|PATTERN BLANK|VOWEL SEPARATOR"
)


@cache
def acts(char: str) -> bool:
    """Return whether Unicode gives a character an effect beyond its glyph."""
    named = _BLANKS.search(unicodedata.name(char, ""))
    return char not in "\t\n" and (unicodedata.category(char) in _CONTROLS or bool(named))


def harm_done(ran: Ran, *, github: bool = False) -> Iterator[str]:
    """Return the lines of an output that do more than display."""
    for line in f"{ran.out}\n{ran.err}".split("\n"):
        command = line.lstrip().startswith("::") and not (github and _ANNOTATION.match(line))
        owned = line.lstrip().startswith(COMMAND)
        if any(map(acts, set(line))) or command or owned or "##[" in line or "##vso[" in line:
            yield line


def hostile_files() -> None:
    """Write a schema, a baseline, a project and a responder that all attack."""
    name = Path(FILE)
    name.mkdir()
    evil, mild = schemas.schema(), schemas.schema()
    evil["$defs"][HARM] = {"type": "object", "properties": {HARM: {"$ref": f"#/$defs/{HARM}"}}}
    mild["$defs"]["Fine"] = {"type": "string", "enum": [HARM]}
    for file, schema in (("evil", evil), ("mild", mild)):
        Path(f"{file}.json").write_text(json.dumps(schema))
    Path(f"{FILE}.json").write_text(json.dumps({"$schema": HARM, "$defs": {"A": {"type": HARM}}}))
    (name / "pyproject.toml").write_text(f"[tool.mcp-gen]\n{json.dumps(HARM)} = 1\n")
    Path("evil.py").write_text(
        f"from dataclasses import dataclass\nraise ImportError({HARM.encode()!r}.decode())\n"
    )
    Path("spec/schema/draft").mkdir(parents=True)
    Path("spec/schema/draft/schema.json").write_text(Path("mild.json").read_text())
    Path("responder").write_text(f"import sys\nsys.stderr.buffer.write({HARM.encode()!r})\n")


# Each runs as text, as annotations, and in one other format; none gets to slow work.
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("--revision", "draft", "--schema", "evil.json", "--out", "pkg"),
    ("--revision", "draft", "--schema", f"{FILE}.json", "--out", "pkg", "--diff"),
    ("--revision", HARM, "--out", FILE, "--dry-run"),
    ("--revision", "2025-11-25", "--out", f"{FILE}.json"),
    ("--revision", "2025-11-25", "--out", "pkg", "--templates", f"{HARM}x"),
    ("new", HARM),
    ("new", "word-clock", "--out", FILE),
    ("new", "word-clock", "--revision", HARM),
    ("sync", FILE),
    ("sync", HARM),
    ("diff", "2025-11-25", HARM),
    ("diff", "2025-11-25", "evil.json"),
    ("diff", "2025-11-25", f"2025-11-25@{HARM}"),
    ("audit", HARM, "--revision", "2025-11-25"),
    ("audit", "evil.py", "--revision", "2025-11-25"),
    ("audit", "evil", "--revision", HARM),
    ("vectors", "--revision", HARM, "--out", "vectors"),
    ("vectors", "--revision", "2024-11-05", "--type", HARM, "--run-command", "x"),
    ("vectors", "--revision", "2024-11-05", "--run-command", HARM),
    ("vectors", "--revision", "2024-11-05", "--run-command", f"{sys.executable} responder"),
    ("update", "--source", HARM),
    ("update", "--source", f"https://user@[{HARM}"),
    ("update", "--source", f"spec/{HARM}", "--ref", HARM),
    ("update", HARM, "--source", "spec"),
    ("update", "--source", "spec", "--accept", HARM),
    ("update", "--source", "spec"),
    ("schema", "add", HARM, "--from", "evil.json", "--schema-folder", "pins"),
    ("schema", "add", "draft", "--from", FILE, "--schema-folder", "pins"),
    ("schema", "verify", HARM),
    ("schema", "verify", "2025-11-25", "--against", "evil.json"),
    ("explain", HARM),
    ("revisions", HARM),
    (HARM,),
    ("new", "x", "--kind", HARM),
)
GENERATING: tuple[tuple[str, ...], ...] = (
    ("--revision", "2025-11-25", "--out", FILE),
    ("--revision", "2025-11-25", "--out", f"{FILE}/new", "--dry-run"),
    ("--revision", "2025-11-25", "--out", f"{FILE}/new", "--diff"),
    ("--revision", "2025-11-25", "--out", f"{FILE}/new"),
    ("--revision", "2025-11-25", "--out", f"{FILE}/new", "--check"),
)
_MORE_FORMATS = {
    "diff": ("json", "markdown", "html"),
    "audit": ("json", "markdown", "html"),
    "update": ("json", "markdown"),
}


def run_commands(mcp_gen: Run, commands: tuple[tuple[str, ...], ...]) -> Iterator[Ran]:
    """Run each command; yield its harmless output."""
    for number, arguments in enumerate(commands):
        more = _MORE_FORMATS.get(arguments[0], ("json",))
        for format in ("text", "github", more[number % len(more)]):
            ran = mcp_gen(*arguments, *(("--format", format) if arguments[0] != "explain" else ()))
            harm = list(harm_done(ran, github=format == "github"))
            assert harm == [], f"{arguments} --format {format}"
            assert ran.code != 3, ran.err
            if format == "json" and ran.out:
                json.loads(ran.out)
            yield ran


def test_no_command_prints_more_than_text(mcp_gen: Run) -> None:
    hostile_files()
    told = ["owned" in ran.out + ran.err for ran in run_commands(mcp_gen, COMMANDS)]
    # Text that is never shown does no harm, but then this test proves nothing.
    assert told.count(True) > 0.9 * len(told)


def test_no_summary_of_what_was_written_is_more_than_text(mcp_gen: Run, little: None) -> None:
    hostile_files()
    assert all("owned" in ran.out + ran.err for ran in run_commands(mcp_gen, GENERATING))


def test_settings_and_the_folder_they_are_in_are_text(
    mcp_gen: Run, little: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile_files()
    monkeypatch.chdir(FILE)
    ran = mcp_gen("--check")
    assert "error[bad-config]" in ran.err
    assert list(harm_done(ran)) == []


def test_a_fault_and_its_traceback_are_text(mcp_gen: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(HARM)

    monkeypatch.setattr(commands, "write", fail)
    for debug in ((), ("--debug",)):
        ran = mcp_gen(*debug, "--revision", "2025-11-25", "--out", "pkg")
        assert ran.code == 3
        assert "owned" in ran.err
        assert list(harm_done(ran)) == []


def test_lines_of_files_are_text_in_a_diff_also_with_colours(
    mcp_gen: Run, little: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = ("--revision", "2025-11-25", "--out", "pkg")
    mcp_gen(*one)
    Path("pkg", "__init__.py").write_text(f"{HARM}\n" + Path("pkg", "__init__.py").read_text())
    ran = mcp_gen(*one, "--diff")
    assert "owned" in ran.out
    assert list(harm_done(ran)) == []
    monkeypatch.setenv("FORCE_COLOR", "1")
    ran = mcp_gen(*one, "--diff")
    assert "\x1b[31m-" in ran.out
    plain = ran.out.replace("\x1b[0m", "").replace("\x1b[31m", "").replace("\x1b[36m", "")
    assert list(harm_done(Ran(1, plain.replace("\x1b[1m", "").replace("\x1b[32m", ""), ""))) == []


def test_problems_have_colour_where_it_is_wanted(
    mcp_gen: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: dict[tuple[str, str, str], bool] = {
        ("", "", "xterm"): False,  # captured output is not a terminal
        ("", "1", "xterm"): True,
        ("", "1", "dumb"): True,
        ("1", "1", "xterm"): False,
    }
    for (no, force, term), coloured in wanted.items():
        for name, value in (("NO_COLOR", no), ("FORCE_COLOR", force), ("TERM", term)):
            monkeypatch.setenv(name, value)
        ran = mcp_gen("--revision", "2025-11-25")
        assert ran.err.startswith("\x1b[1;31merror[no-output]\x1b[0m: no output") is coloured
        assert ("\x1b" in ran.err) is coloured
    monkeypatch.setenv("FORCE_COLOR", "")
    terminal = StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    for no, term, coloured in (("", "xterm", True), ("", "dumb", False), ("1", "xterm", False)):
        monkeypatch.setenv("NO_COLOR", no)
        monkeypatch.setenv("TERM", term)
        assert colourful(terminal) is coloured


def test_escaped_text_is_unchanged_for_json_readers() -> None:
    for text in (HARM, ACTING, "\ttab\U0010ffff\ud800"):
        assert json.loads(f'"{safe_line(text)}"') == text
        document = json.dumps({"text": text}, ensure_ascii=False)
        assert json.loads(page(document)) == {"text": text}


def test_invisible_characters_are_escaped() -> None:
    for code in (*range(0x20000), *range(0xE0000, 0xE1000)):
        assert safe_line(chr(code)).startswith("\\") or not acts(chr(code)), hex(code)
    assert safe_line("e\u0301 \u3000\u00a0\U0001f600") == "e\u0301 \u3000\u00a0\U0001f600"


def test_only_colours_of_ours_are_shown() -> None:
    ours = paint(Colour.RED, "red")
    assert page(ours, colour=True) == "\x1b[31mred\x1b[0m"
    assert page(ours) == "red"
    for code in (*Colour, "0"):
        for colour in (False, True):
            assert page(f"\x1b[{code}mred", colour=colour) == f"\\u001b[{code}mred"
    assert page("\x1b[8mhidden\x1b[2J", colour=True) == "\\u001b[8mhidden\\u001b[2J"


def test_commands_are_those_that_the_page_is_made_of() -> None:
    assert page("::error::x\n", commands=True) == "::error::x\n"
    assert page("::error::x ##[y]\n \u3000::z") == "\\u003a:error::x #\\u0023[y]\n \u3000\\u003a:z"
    assert no_command("a::b ## c") == "a::b ## c"
    assert no_command("x\n \ufe0f \u200b::error::x") == "x\n \ufe0f \u200b\\u003a:error::x"


def test_a_problem_of_several_lines_is_one(mcp_gen: Run) -> None:
    assert Problem("a-b", "x\ny", "p\nq", hint="h\ni").lines[1] == "  hint: h\ni"
    err = mcp_gen("--revision", "a\nb,c", "--out", "pkg").err
    assert all(line.startswith(("error[", "  hint: ")) for line in err.splitlines())
