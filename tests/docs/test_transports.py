"""The page on transports: its example runs as it stands."""

import asyncio
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from support.folders import ROOT

PAGE = ROOT / "docs" / "transports.md"


@pytest.mark.shows("S0-30", "S0-44", "S3-02", "S3-55")
def test_the_example_of_a_transport_of_ones_own_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "generated"), *sys.path])
    import mcp_revisions

    monkeypatch.setitem(sys.modules, "pkg", mcp_revisions)
    for name in ("v2025_11_25", "v2025_11_25.models"):
        module = __import__(f"mcp_revisions.{name}", fromlist=["models"])
        monkeypatch.setitem(sys.modules, f"pkg.{name}", module)
    found = re.search(r"<!-- example: unix socket -->\n```python\n(.*?)```", PAGE.read_text(), re.S)
    assert found is not None
    program: dict[str, Any] = {}
    exec(found[1], program)
    asyncio.run(program["main"](str(tmp_path / "socket")))
    assert "noon" in capsys.readouterr().out
    assert found[1].count("\n") <= 30
