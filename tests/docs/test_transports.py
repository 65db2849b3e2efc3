"""The page on transports: its example runs as it stands."""

import asyncio
from pathlib import Path

import pytest
from mcp_protogen.servers.inspect.revision_facts import all_revisions, all_transports
from support.docs.pages import block_texts, page, run


@pytest.mark.shows("S0-30", "S0-44", "S3-02", "S3-55")
def test_the_example_of_a_transport_of_ones_own_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (program,) = block_texts("transports.md")
    asyncio.run(run(program)["main"](str(tmp_path / "socket")))
    assert "noon" in capsys.readouterr().out
    assert program.count("\n") <= 30


def test_transports_of_the_page_are_those_of_the_facts() -> None:
    text = page("transports.md")
    for name, transport in all_transports().items():
        having = [
            revision
            for revision, facts in all_revisions().items()
            if name in facts.transports and not facts.transports[name].later
        ]
        since = " to ".join(dict.fromkeys((having[0], having[-1])))
        names = ", ".join(f"`{name}`" for name in transport.names)
        cells = (name, since, transport.address, transport.framing, names)
        assert f"| {' | '.join(cells)} |\n" in text
        if (session := transport.session) is not None:
            for word in (session.begins, session.header, session.ends):
                assert f"`{word}`" in text
        assert not transport.fallback or f"{name} tries {transport.fallback}" in " ".join(
            text.split()
        )
