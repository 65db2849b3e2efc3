"""The page about server cards: its server publishes a card, and its client reads it."""

import pytest
from support.docs.pages import example
from support.http.serving import run_app

PAGE = "server-cards.md"


async def test_the_examples_of_server_cards_work(capsys: pytest.CaptureFixture[str]) -> None:
    served = example(PAGE, "server card")
    reading = example(PAGE, "reading a card")
    async with run_app(served["app"].http()) as port:
        await reading["look"](f"http://127.0.0.1:{port}/mcp", "")
        await reading["look"](f"http://127.0.0.1:{port}/other/server-card", "")
    said = capsys.readouterr().out
    assert f"urn:air:example.com:mcp:weather http://127.0.0.1:{port}/mcp/server-card" in said
    assert "com.example/weather 2026-07-28 []" in said
    assert "not used: no server card was found at" in said
