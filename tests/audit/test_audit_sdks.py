"""Invalid SDKs: one clear problem for each."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.instep.audit.probe.importing import ImportedModules, last_line, take
from mcp_protogen.instep.audit.run_audit import AuditOptions, audit
from mcp_protogen.instep.audit.sdk import find
from support import tables
from support.audit.auditing import PYDANTIC, REVISION, run_audit, write_sdk
from support.running import Run

pytestmark = pytest.mark.usefixtures("vectors_made_once")


def problem(folder: Path, source: str, timeout: float = 60.0) -> Problem:
    """The problem with a module."""
    with pytest.raises(ProblemError) as raised:
        audit(write_sdk(folder, source), REVISION, AuditOptions(timeout=timeout))
    (found,) = raised.value.problems
    return found


def test_a_module_that_raises_is_named_with_the_last_line_and_its_place(tmp_path: Path) -> None:
    found = problem(tmp_path, "x = 1\nraise ValueError('no such thing')")
    assert found.code == "target-fails"
    assert "ValueError: no such thing" in found.message
    assert "sdk.py, line 2" in found.message


def test_last_line_of_an_error_has_the_file_and_line_where_it_is_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "raises_when_imported.py"
    module.write_text("x = 1\nraise ValueError('no such thing')")
    found = ImportedModules([], [])
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    take(("no_such_sdk", module.stem), found)
    assert [entry["error"] for entry in found.skipped] == [
        "ModuleNotFoundError: No module named 'no_such_sdk'",
        f"ValueError: no such thing ({module}, line 2)",
    ]
    assert last_line(ValueError("never raised")) == "ValueError: never raised"


def test_a_module_that_exits_is_no_end_of_the_audit(tmp_path: Path) -> None:
    assert problem(tmp_path, "import sys\nsys.exit(3)").code == "target-exits"


def test_a_module_that_ends_its_process_is_reported_with_its_last_words(tmp_path: Path) -> None:
    source = "import os, sys\nprint('dying', file=sys.stderr, flush=True)\nos._exit(7)"
    found = problem(tmp_path, source)
    assert found.code == "target-died"
    assert "exit code 7" in found.message
    assert "dying" in found.message


def test_a_module_that_hangs_is_given_up(tmp_path: Path) -> None:
    found = problem(tmp_path, "import threading\nthreading.Event().wait()", timeout=1.0)
    assert found.code == "target-hangs"
    assert "1 second" in found.message


def test_a_module_that_reads_its_input_finds_none(tmp_path: Path) -> None:
    assert "EOFError" in problem(tmp_path, "input()").message


def test_a_module_without_types_has_nothing_to_audit(tmp_path: Path) -> None:
    assert problem(tmp_path, "def add(a, b): return a + b").code == "nothing-to-audit"


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="no-target"):
        find(str(tmp_path))


def test_invalid_sdk_is_refused() -> None:
    for name in ("mcp/types.txt", "not a name", "a..b", ""):
        with tables.case(name), pytest.raises(ProblemError, match="no-target"):
            find(name)


def test_an_interpreter_that_is_not_there_is_named() -> None:
    with pytest.raises(ProblemError, match=r"no-interpreter.*no-such-python"):
        find("json", "no-such-python")


def test_an_interpreter_that_is_no_python_is_reported() -> None:
    with pytest.raises(ProblemError, match="target-died"):
        audit(find("json", "false"), REVISION)


def test_a_module_that_is_not_installed_is_told_from_one_that_lacks_something(
    tmp_path: Path,
) -> None:
    with pytest.raises(ProblemError, match=r"target-not-found.*no_such_sdk"):
        audit(find("no_such_sdk"), REVISION)
    assert problem(tmp_path, "import no_such_dependency").code == "target-fails"


def test_a_revision_that_is_not_pinned_is_refused_before_anything_is_imported(
    tmp_path: Path,
) -> None:
    marked = tmp_path / "imported"
    asked = write_sdk(tmp_path / "sdk", f"open({str(marked)!r}, 'w')")
    with pytest.raises(ProblemError, match="unknown-revision"):
        audit(asked, "2025-11-26")
    assert not marked.exists()


def test_stdout_is_protected_from_what_an_sdk_prints_and_leaves_running(tmp_path: Path) -> None:
    source = """
        import dataclasses, os, sys, threading
        print("{ not what you expect")
        os.write(1, b"nor this\\n")
        threading.Thread(target=threading.Event().wait).start()

        @dataclasses.dataclass
        class Root:
            uri: str
        """
    found = run_audit(tmp_path, source, vectors=True)
    assert "1 of 145 types matched" in found.summary


def test_a_process_that_an_sdk_leaves_running_is_not_waited_for(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}
    import subprocess, sys
    subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])

    class Root(BaseModel):
        uri: str
    """
    found = run_audit(tmp_path, source, timeout=20.0)
    assert "1 of 145 types matched" in found.summary


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="signals")
def test_a_signal_that_ends_an_audit_ends_the_sdk(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    source = f"import threading; kept = open({str(alive)!r}, 'w'); threading.Event().wait()"
    folder = write_sdk(tmp_path / "sdk", source).path[0]
    audit_of_it = subprocess.Popen([sys.executable, "-m", "mcp_protogen", "audit", folder])
    with alive.open() as ends:  # opened once the SDK has done so
        audit_of_it.terminate()
        assert audit_of_it.wait(30) == -signal.SIGTERM
        assert select.select([ends], [], [], 30)[0], "the SDK still runs"
        assert ends.read() == ""


def test_odd_values_in_an_sdk_do_no_harm(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}
    import enum

    class Refusing(type):
        def __getattr__(cls, name):
            raise RuntimeError("not now")

    class Later(metaclass=Refusing):
        pass

    class Proxy:
        def __getattr__(self, name):
            raise RuntimeError("not now")

        def __hash__(self):
            raise RuntimeError("not now")

        __class__ = property(lambda self: 1 / 0)

    PROXY = proxy = Proxy()

    class Role(enum.Enum):
        USER = ("user", 1)
        ASSISTANT = ["assistant"]
        OTHER = object()

    class Root(BaseModel):
        uri: str
    """
    assert "2 of 145 types matched" in run_audit(tmp_path, source, vectors=True).summary


def test_modules_below_a_package_that_fail_are_noted_and_left_out(tmp_path: Path) -> None:
    package = tmp_path / "sdk"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text("raise SystemExit('ran')")
    (package / "broken.py").write_text("import no_such_dependency")
    (package / "exits.py").write_text("raise SystemExit(1)")
    (package / "good.py").write_text("class Root: __fields__ = None\nROOTS = ['a']\n")
    (package / "types.py").write_text(
        "import typing\nclass Root(typing.TypedDict):\n    uri: str\n"
    )
    found = audit(find(str(package)), REVISION, AuditOptions(vectors=False))
    assert {note.place for note in found.comparison.notes} == {"sdk.broken", "sdk.exits"}
    assert "1 of 145 types matched" in found.summary


def test_a_project_with_a_src_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "setup.py").write_text("raise SystemExit")
    package = tmp_path / "src" / "sdk"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import dataclasses\n")
    assert find(str(tmp_path)).modules == ("sdk",)


def test_modules_of_the_probe_do_not_stand_in_for_those_of_the_sdk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("members", "structure", "importing", "run")
    source = "".join(f"import {name}; assert {name}.MINE\n" for name in names)
    for name in names:
        (tmp_path / f"{name}.py").write_text("MINE = True\n")
    write_sdk(tmp_path, f"{source}import typing\nclass Root(typing.TypedDict):\n    uri: str\n")
    monkeypatch.chdir(tmp_path)
    found = audit(find("sdk"), REVISION, AuditOptions(vectors=False))
    assert "1 of 145 types matched" in found.summary


def test_an_sdk_is_never_imported_by_our_own_process(tmp_path: Path) -> None:
    run_audit(tmp_path, f"{PYDANTIC}\n    class Root(BaseModel):\n        uri: str")
    assert "sdk" not in sys.modules


def test_a_problem_is_one_message_on_standard_error(mcp_gen: Run) -> None:
    ran = mcp_gen("audit", "no_such_sdk")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error[target-not-found]: no_such_sdk: ")
