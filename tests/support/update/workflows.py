"""Workflows and hooks that users copy, run as GitHub Actions and pre-commit do."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.peers.places import install, make_once


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs the steps of a job in a folder that is the checkout, and hooks of commits there."""

    folder: Path
    environment: Mapping[str, str]

    def run(
        self, step: Mapping[str, Any], within: str = ".", **more: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder / within,
            env={**self.environment, **more},
            capture_output=True,
            text=True,
            check=False,
        )

    def run_hook(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Run pre-commit."""
        # Only a part of what it installs is ever used, and is compiled then.
        more = {"PRE_COMMIT_HOME": str(self.folder.parent / "pre-commit"), "PIP_NO_COMPILE": "1"}
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**self.environment, **more},
            capture_output=True,
            text=True,
            check=False,
        )

    def text(self, name: str) -> str:
        return (self.folder / name).read_text()


def pre_commit_program() -> Path:
    """Return pre-commit, in its own environment, made on first use."""
    wanted = "pre-commit>=4,<5"
    folder = make_once(
        "pre-commit", f"{sys.version}{wanted}", lambda folder: install(folder, wanted)
    )
    return folder / "bin" / "pre-commit"
