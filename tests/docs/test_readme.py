"""What the README shows works as it stands there."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_runs(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    shutil.copytree(ROOT / "generated" / "mcp_revisions", tmp_path / "pkg")
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Hello from greet" in done.stdout


def test_links_lead_somewhere() -> None:
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            assert (path.parent / link).exists(), f"{path.name}: {link}"


def test_the_table_of_habits_is_what_make_offers() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    offered = set(re.findall(r"^([a-z]+):.*##", makefile, re.MULTILINE))
    assert offered == {
        "help",
        "setup",
        "demo",
        "test",
        "check",
        "golden",
        "bench",
        "wheel",
        "clean",
    }
