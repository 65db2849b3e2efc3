"""Formatting in pieces gives what the formatter makes of the whole."""

from pathlib import Path

import black
import pytest
from black.mode import Mode, TargetVersion
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.base.resources import runtime_folder
from mcp_protogen.emit import formatting
from mcp_protogen.emit.parallel import Inline
from mcp_protogen.emit.text import WIDTH
from support import tables

MODE = Mode(line_length=WIDTH, target_versions={TargetVersion.PY311})

SOURCES = {
    "assignments": "x = 1\ny = { 'a':1 }\n",
    "a class": "x=1\n\n\nclass A:\n    y : int=1\n\n\nz = 2\n",
    "functions": "def f( ): pass\n\n\n\n\nasync def g(a,b): return  1\n",
    "comments": "# head\nx = 1\n\n# about A\nclass A: pass\n# tail of A\n\n\n# end\n",
    "decorators": "x = 1\n\n\n@d\n@e(1)\nclass A: ...\n\n\n@d\ndef f(): ...\n",
    "no blank lines": "x = 1\nclass A: pass\ny = 2\ndef f(): pass\nz = 3\n",
    "a docstring": '"""Doc\n\nwith  lines.\n"""\nimport a\nclass A:\n    """Doc."""\n',
    "odd line ends in strings": 'x = "a\\x0cb"\n\n\nclass A:\n    """a\u2028b"""\n\n\ny = 1\n',
    "nothing": "",
    "guards": "if x:\n    class A: ...\nelse:\n    A = 1\n\n\nclass B: ...\n",
}


def formatted(*sources: str) -> list[str]:
    formatter = formatting.Formatter(Inline())
    cut = [formatting.pieces(source) for source in sources]
    for pieces in cut:
        formatter.add(pieces)
    return [formatter.joined(pieces) for pieces in cut]


def test_pieces_come_to_the_whole() -> None:
    for name, source in SOURCES.items():
        with tables.case(name):
            assert formatted(source)[0].strip() == black.format_str(source, mode=MODE).strip()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("path", sorted(runtime_folder().glob("*.py")), ids=lambda path: path.name)
def test_real_modules_come_to_the_whole(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert formatted(source)[0] == black.format_str(source, mode=MODE)


def test_what_several_modules_share_is_formatted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    original = formatting.format_all

    def counted(sources: list[str]) -> list[str]:
        seen.extend(sources)
        return original(sources)

    monkeypatch.setattr(formatting, "format_all", counted)
    both = formatted("x = 1\n\n\nclass A: ...\n", "y = 1\n\n\nclass A: ...\n")
    assert both[0].split("\n\n\n")[1] == both[1].split("\n\n\n")[1]
    assert len(seen) == len(set(seen)) == 3


def test_text_that_is_no_python_is_named_with_its_line() -> None:
    with pytest.raises(ProblemError) as caught:
        formatting.check_syntax("x = 1\ny = (\n", "v1/methods.py", "methods.py.jinja")
    (problem,) = caught.value.problems
    assert (problem.code, problem.place) == ("template-error", "methods.py.jinja")
    assert "v1/methods.py" in problem.message and "line 2" in problem.message
