"""The server and the host of the page about user interfaces run."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from support.folders import GENERATED, ROOT

PAGE = (ROOT / "docs" / "user-interfaces.md").read_text(encoding="utf-8")
SERVER, HOST = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_host_of_the_page_reads_the_user_interface_of_its_server(tmp_path: Path) -> None:
    hidden = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(GENERATED / "mcp_revisions", tmp_path / "pkg", ignore=hidden)
    (tmp_path / "weather.py").write_text(SERVER)
    (tmp_path / "host.py").write_text(HOST)
    command = [sys.executable, "host.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    [line] = done.stdout.splitlines()
    assert line.startswith("forecast ui://weather/view <!doctype html>")
    assert "connect_domains=['https://weather.example']" in line
