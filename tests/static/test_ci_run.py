"""`.ci/run` installs the programs that tests start, and under `CI=true` needs all of them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.folders import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs bash")

_PROGRAMS = ("redis-server", "nginx", "haproxy", "caddy", "chromium")
_APT_GET = """#!/usr/bin/env bash
echo "$*" >> "$PLACE/calls"
case "$*" in
  *update) [ "$(grep -c update "$PLACE/calls")" -gt 1 ] ;;  # At first another run has the lock.
  *) for word; do
       [ "$word" != "$UNAVAILABLE" ] || exit 100
     done
     for word; do
       ln -sf /bin/true "$PLACE/bin/${word/postgresql/postgres}"
     done ;;
esac
"""


def run_ci(place: Path, *, unavailable: str = "none", **environment: str) -> tuple[int, str]:
    """Run the script where no program is installed; return its exit code and its output."""
    tools = ("bash", "dirname", "env", "grep", "ln", "timeout")
    for folder in ("bin", "checkout/.ci"):
        (place / folder).mkdir(parents=True)
    for tool in tools:
        (place / "bin" / tool).symlink_to(str(shutil.which(tool)))
    scripts = {
        "apt-get": _APT_GET,
        "make": '#!/usr/bin/env bash\necho "make $*"\n',
        "id": "#!/usr/bin/env bash\necho 0\n",
        "sleep": "#!/usr/bin/env bash\n",
    }
    for name, text in scripts.items():
        (place / "bin" / name).write_text(text, encoding="utf-8")
        (place / "bin" / name).chmod(0o755)
    shutil.copy(ROOT / ".ci" / "run", place / "checkout" / ".ci")
    paths = {"PATH": str(place / "bin"), "PLACE": str(place), "UNAVAILABLE": unavailable}
    ended = subprocess.run(
        ["bash", place / "checkout" / ".ci" / "run"],
        env=paths | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.parametrize("environment", [{}, {"CI": "true"}], ids=["plain", "CI"])
def test_run_tests_after_all_programs_are_installed(
    environment: dict[str, str], tmp_path: Path
) -> None:
    assert run_ci(tmp_path, **environment) == (0, "make setup\nmake test\n")
    installed = set(os.listdir(tmp_path / "bin"))
    assert installed >= set(_PROGRAMS)
    assert "-o DPkg::Lock::Timeout=" in (tmp_path / "calls").read_text(encoding="utf-8")


def test_unavailable_program_ends_run_under_ci_alone(tmp_path: Path) -> None:
    code, output = run_ci(tmp_path / "ci", unavailable="nginx", CI="true")
    assert code == 1 and "make test" not in output
    assert output.endswith("Tests need programs that could not be installed: nginx\n")
    code, output = run_ci(tmp_path / "plain", unavailable="nginx")
    assert code == 0 and output.endswith("make test\n")
