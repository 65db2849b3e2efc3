"""The server and the host of the page about user interfaces run."""

import subprocess
import sys
from pathlib import Path

from support.docs.pages import beside_package, block_texts

SERVER, HOST = block_texts("user-interfaces.md")


def test_the_host_of_the_page_reads_the_user_interface_of_its_server(tmp_path: Path) -> None:
    beside_package(tmp_path, {"weather.py": SERVER, "host.py": HOST})
    command = [sys.executable, "host.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    [line] = done.stdout.splitlines()
    assert line.startswith("forecast ui://weather/view <!doctype html>")
    assert "connect_domains=['https://weather.example']" in line
