"""Every case under `cases/` does today what it was recorded to do."""

from pathlib import Path

import pytest

from .replay import CASES, play


@pytest.mark.parametrize("case", sorted(CASES.iterdir()), ids=lambda case: case.name)
def test_case(case: Path, tmp_path: Path) -> None:
    happened = play(case, tmp_path)
    assert happened.stderr == (case / "stderr").read_text()
    assert happened.stdout == (case / "stdout").read_text()
    assert happened.exit == int((case / "exit").read_text())
    assert happened.tree == (case / "tree").read_text()
    for path in (case / "expected").rglob("*"):
        if path.is_file():
            made = tmp_path / path.relative_to(case / "expected")
            assert made.read_text() == path.read_text(), made.name
