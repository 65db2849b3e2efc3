"""What the page and the heads of the servers of `examples/` say about them."""

import re

from support.examples.ported import EXAMPLES, SERVERS, code_lines, source
from support.folders import ROOT
from support.tables import case


def test_the_page_counts_the_lines_as_they_are() -> None:
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)\.py` \| (\d+) \| .* \| (\d+) \|$", page, re.MULTILINE)
    assert sorted(name for name, _, _ in rows) == [*SERVERS]
    assert {*re.findall(r"^\| `(\w+)\.py` \| \D", page, re.MULTILINE)} == {*SERVERS}
    for name, ours, theirs in rows:
        with case(name):
            assert int(ours) == code_lines(source(name)) <= int(theirs)


def test_lines_are_counted_where_there_is_code() -> None:
    lines = ('"""Says', 'hello."""', "", "# A comment.", "x = (", "    1,  # one", "", ")")
    function = ("def f():", '    """A."""', '    return """b', "", '"""', "")
    python = "\n".join((*lines, *function))
    assert code_lines(python) == 3 + 1 + 3
    script = "#!/usr/bin/env node\n// a comment\n/* more\n\n of it */\n\nconst a = 1; // one\n}\n"
    assert code_lines(script, of="ts") == 2


def test_each_head_says_how_the_server_is_started() -> None:
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    for name in SERVERS:
        head = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").partition('\n"""')[0]
        with case(name):
            commands = re.findall(r"^    (\S.*?)(?:  +#.*)?$", head, re.MULTILINE)
            run = f"python examples/{name}.py"
            made = "mcp-gen --revision all --with all --out examples/pkg"
            assert commands == [made, run, f"{run} --http 8000"]
            assert f"    {made}\n" in page
