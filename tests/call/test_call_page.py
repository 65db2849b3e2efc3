"""The page about calling from a terminal shows real output."""

from support.docs.pages import indented_block
from support.running import Run


def test_a_mistake_is_explained_as_on_the_page(shop: Run) -> None:
    command, _, printed = indented_block(
        "command-call.md", "$ mcp-gen call server.py greet"
    ).partition("\n")
    ran = shop(*command.split()[2:])
    assert (ran.code, ran.err) == (2, printed)
