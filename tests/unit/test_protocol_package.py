"""The installed protocol package: the commands that work without it, and the error of others."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.servers.bridge import logs
from mcp_protogen.servers.clients.making import write
from mcp_protogen.servers.connect.protocol import protocol
from support.folders import ROOT, environment
from support.running import Run
from support.tables import case
from support.typed_clients.contracts import contract_of, lock_for, tool

NAME = "mcp_revisions"
(MADE,) = re.findall(r"^GOLDEN := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
FAULTS: Mapping[str, tuple[str, str]] = {
    "raises": ("raise RuntimeError('broken')", "RuntimeError: broken"),
    "not whole": ("def (", "SyntaxError: invalid syntax"),
    "for another version": (
        "from mcp_protogen.runtime.core.version_check import require_version\n"
        "require_version('99.0', __name__)",
        "was generated for mcp_protogen.runtime 99.0",
    ),
    "of somebody else": ("Revision = object()", "has another runtime"),
}
WORKING = (
    f"{MADE.replace('--revision all', '--revision 2026-07-28')} --force",
    "--revision 2024-11-05 --out made --dry-run",
    "--revision 2024-11-05 --out made",
    "--out made --check",
    "--out made --diff",
    "diff 2025-11-25 2026-07-28",
    "new clock --revision 2024-11-05",
    "sync clock --check",
    "schema draft-facts 2025-11-25 --check",
    "schema verify",
    "extensions",
    "vectors --revision 2024-11-05 --out vectors",
    "audit clock/src/clock --revision 2024-11-05 --no-vectors",
    "revisions",
    "templates",
    "explain broken-installation",
)
ASKING = (
    "list server.py",
    "call server.py tool",
    "read server.py memo://today",
    "prompt server.py name",
    "client server.py --out made.py",
    "diff kept.lock --server server.py",
    "bridge --to server.py",
)

PROGRAM = """
import shlex, sys
from mcp_protogen.cli import main
for line in sys.argv[1:]:
    sys.argv[1:] = shlex.split(line)
    try:
        main()
    except SystemExit as end:
        print(f"{end.code or 0}: {line}")
"""


@pytest.mark.long
def test_all_that_makes_or_compares_packages_works_without_it(tmp_path: Path) -> None:
    """`PYTHONPATH` reaches also the processes that the generator starts."""
    hidden, work = tmp_path / "hidden", tmp_path / "work"
    hidden.mkdir()
    work.mkdir()
    # Any import of it fails, with an error that nothing expects.
    (hidden / f"{NAME}.py").write_text(FAULTS["raises"][0])
    paths = os.pathsep.join([str(hidden), environment()["PYTHONPATH"]])

    lines = (*WORKING, "list server.py")
    command = [sys.executable, "-c", PROGRAM, *lines]
    seen = {**os.environ, "PYTHONPATH": paths}
    ran = subprocess.run(command, cwd=work, env=seen, capture_output=True, text=True)
    ends = re.findall(r"^(\d): (.+)$", ran.stdout, re.MULTILINE)
    assert ends == [*(("0", line) for line in WORKING), ("2", lines[-1])], ran.stderr
    assert ran.stderr.count("error[broken-installation]") == 1


@pytest.fixture
def missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides the package from this process."""
    monkeypatch.setitem(sys.modules, NAME, None)


def test_every_command_that_asks_a_server_says_that_it_is_not_there(
    missing_package: None, monkeypatch: pytest.MonkeyPatch, mcp_gen: Run
) -> None:
    def no_log(*_: object) -> None:
        """Leave the log of the tests alone."""

    monkeypatch.setattr(logs, "begin_log", no_log)
    write(lock_for(contract_of(tool("add"))), Path("kept.py"), force=False)
    for command in ASKING:
        with case(command):
            ran = mcp_gen(*command.split())
            assert (ran.code, ran.err.count("error[")) == (2, 1)
            assert ran.err.startswith(f"error[broken-installation]: {NAME}, a part of mcp-gen")
            assert "make golden" in ran.err.splitlines()[1]


@pytest.mark.parametrize("fault", FAULTS)
def test_faulty_package_is_reported_on_each_import(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, said = FAULTS[fault]
    (tmp_path / f"{NAME}.py").write_text(program)
    monkeypatch.syspath_prepend(str(tmp_path))  # pyright: ignore[reportUnknownMemberType]
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    for _ in range(2):
        with pytest.raises(ProblemError) as caught:
            protocol()
        (problem,) = caught.value.problems
        assert problem.code == "broken-installation" and said in problem.message
