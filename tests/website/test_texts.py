"""The page of texts has each text as the code has it."""

from support.tables import case
from website.dialect import for_zensical
from website.markdown import code
from website.reference.texts import Text, texts, texts_of


def test_texts_of_problems_errors_and_log_entries_are_found() -> None:
    for source, found in (
        ('Problem("code", f"no {name}", hint="add it")', Text("m", "code", "no {name}", "add it")),
        ('text = "late " + "text"\nraise ValueError(text)', Text("m", "ValueError", "late text")),
        ('raise errors.WrongCall("a" if b else "c")', Text("m", "WrongCall", "a / c")),
        ('_log.warning("%s failed", name)', Text("m", "warning", "%s failed")),
    ):
        with case(source):
            assert [*texts_of("m", source)] == [found]


def test_page_has_texts_of_commands_and_of_the_runtime() -> None:
    page = texts()
    assert "| not-json | `this is not JSON: {reason}` |" in page
    assert "## `runtime/http/server`" in page


def test_code_in_cells_may_have_backticks_and_bars() -> None:
    cell = code("give `--x` | not both")
    assert cell == "`` give `--x` \\| not both ``"
    assert for_zensical(f"| {cell} | `a\\|b` |") == "| `` give `--x` | not both `` | `a|b` |"
