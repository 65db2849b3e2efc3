"""The page on transports: its example runs as it stands."""

import asyncio
from pathlib import Path

import pytest
from support.docs.pages import block_texts, run


@pytest.mark.shows("S0-30", "S0-44", "S3-02", "S3-55")
def test_the_example_of_a_transport_of_ones_own_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (program,) = block_texts("transports.md")
    asyncio.run(run(program)["main"](str(tmp_path / "socket")))
    assert "noon" in capsys.readouterr().out
    assert program.count("\n") <= 30
