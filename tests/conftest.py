"""Fixtures of several test folders: the published schemas, and a command line in process."""

import gc
import os
import shutil
import signal
import sys
from collections.abc import Callable, Generator
from inspect import iscoroutinefunction, signature
from logging import NOTSET, getLogger
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from support import failures, memo, missing, scheduling, tables
from support.coroutines import SkippingLoop, run
from support.folders import alone
from support.http import behind
from support.patience import PATIENCE
from support.quick import limits
from support.running import Ran, Run

if TYPE_CHECKING:
    from support.engines import PostgresServer, RedisServer
    from support.pages.browser import Page
    from support.peers.visits import Peers, Visitors
    from support.update.specifications import Spec


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sampling")
    group.addoption("--all", action="store_true", help="every case of every table, no samples")
    group.addoption("--of", help="only tests that a row of this name is in, as a revision")
    group.addoption("--seed", default="0", help="which samples of large tables to take")
    quick = parser.getgroup("quick")
    quick.addoption("--record", metavar="FILE", help="record which files each test runs")
    quick.addoption("--leave-out", metavar="FILE", help="leave out tests whose ids a file lists")
    quick.addoption("--until", type=float, help="skip tests that would begin after this time")
    behind.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    failures.pytest_configure(config)
    scheduling.configure(config)
    if (record := config.getoption("--record")) is not None:
        from support.quick import recording

        recording.configure(config, record)
    tables.configure(config)
    behind.configure(config)
    # Processes of tests would compile all their imports each time.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # In each process, Pydantic would look for plugins in the metadata of all packages.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    # A shell ignores it for what runs in the background, and so would the processes of tests.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Tests say themselves what earlier runs have left.
    os.environ["MCP_GEN_CACHE"] = ""
    if not hasattr(config, "workerinput"):
        # Workers inherit the name.
        folder = TemporaryDirectory(prefix="made-once-")
        config.add_cleanup(folder.cleanup)
        os.environ["MADE_ONCE"] = folder.name
    memo.remember()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.getreports("skipped")
    for line in missing.lines(report.longrepr[2] for report in skipped):
        terminalreporter.write_line(line, yellow=True)
    for line in (*behind.describe_run(), tables.describe_sampling()):
        terminalreporter.write_line(line)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    return scheduling.by_file(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect tests without garbage collection, also later for imported modules."""
    scheduling.begin_elsewhere(session.config)
    gc.disable()
    collected = yield
    gc.freeze()
    gc.enable()
    # Trees, schemas and models of a test are many objects, and seldom in cycles.
    gc.set_threshold(20_000, 20, 50)
    return collected


def pytest_runtest_setup(item: pytest.Item) -> None:
    limits.require_time(item.config)


# Before xdist, which writes the groups into the names of tests.
@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    scheduling.set_apart(items)
    left_out = (
        tables.omitted_tests(items)
        + behind.omitted_tests(items)
        + limits.find_left_out(config, items)
    )
    row: str | None = config.getoption("--of")
    if row is not None:
        tests = (item for item in items if isinstance(item, pytest.Function))
        left_out += [test for test in tests if not tables.is_row_of(test, row)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        away = {item.nodeid for item in left_out}
        items[:] = [item for item in items if item.nodeid not in away]
    # A run that may be too short for all of them has the order of its arguments.
    if config.getoption("--until") is None:
        scheduling.put_in_order(items)
    # Hypothesis reads the constants of all our modules, and keeps them for the other workers.
    with alone(Path(os.environ["MADE_ONCE"], "constants")):
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine."""
    test = pyfuncitem.obj
    if not iscoroutinefunction(test):
        return None
    loop = None
    within = PATIENCE
    if marker := pyfuncitem.get_closest_marker("skips_time"):
        loop = SkippingLoop
        within = marker.kwargs.get("within", PATIENCE)
    given = {name: pyfuncitem.funcargs[name] for name in signature(test).parameters}
    run(test(**given), within, loop)
    return True


@pytest.fixture(scope="session")
def published_bytes() -> Callable[[str], bytes]:
    """The published bytes of a revision."""

    def read(revision: str) -> bytes:
        file = f"published/{revision}.schema.json"
        return missing.reference(file, "what becomes of published files").read_bytes()

    return read


@pytest.fixture(scope="session", autouse=True)
def each_schema_checked_once() -> Generator[None, None, None]:
    """The commands check schemas, and tests give them the same ones many times."""
    from support import made_once

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("mcp_protogen.pipeline.inputs.metacheck.check", made_once.checked_once)
        yield


@pytest.fixture(autouse=True)
def losses_are_logged() -> Generator[None, None, None]:
    """Commands show losses themselves, and log none."""
    yield
    getLogger("mcp_protogen.runtime.core.losses").setLevel(NOTSET)


@pytest.fixture(scope="session")
def redis_server() -> Generator["RedisServer", None, None]:
    """A Redis of this process, which tests share by namespaces, and leave running."""
    from support.engines import redis_running

    with redis_running() as server:
        yield server


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Generator["Page", None, None]:
    """A tab of a browser; test files that use it are in one `xdist_group`, so that there is one."""
    from support.pages.browser import browser, executable

    program = executable()
    if program is None:
        missing.skip_untested("chromium", "comparisons, the site and the explorer in a browser")
    with browser(program, tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture(scope="session")
def visitors() -> Generator["Visitors", None, None]:
    """Foreign clients; test files that use them are in one `xdist_group`, to start them once."""
    from support.peers.visits import Visitors

    made = Visitors()
    yield made
    made.close()


@pytest.fixture(scope="module")
def peers(visitors: "Visitors") -> Generator["Peers", None, None]:
    """Start foreign clients and servers for the tests of a module."""
    from support.peers.visits import Peers

    made = Peers(visitors)
    yield made
    made.close()


@pytest.fixture(scope="session")
def postgres_server() -> Generator["PostgresServer", None, None]:
    """A PostgreSQL of this process, which tests share by schemas, and leave running."""
    from support.engines import postgres_running

    with postgres_running() as server:
        yield server


@pytest.fixture
def mcp_gen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Run:
    """Run `mcp-gen` with arguments, in a new working directory."""
    from mcp_protogen.cli import main
    from support import made_once

    monkeypatch.chdir(tmp_path)
    made_once.put_in_place(monkeypatch)
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(*arguments: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["mcp-gen", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        output = capsys.readouterr()
        code = ended.value.code
        return Ran(code if isinstance(code, int) else 0, output.out, output.err)

    return run


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A place for an output folder, with nothing else beside it."""
    (tmp_path / "place").mkdir()
    return tmp_path / "place" / "pkg"


@pytest.fixture(scope="session")
def _pinned_spec(tmp_path_factory: pytest.TempPathFactory) -> "Spec":
    """Pin our snapshots, which are schemas too, as if they were published."""
    from mcp_protogen.base.resources import schema_folder
    from mcp_protogen.instep.update.adoption import Origin, add
    from mcp_protogen.pipeline.inputs.pins import load_pins, snapshot_file
    from support.update.specifications import Spec

    place = tmp_path_factory.mktemp("specification")
    shutil.copytree(schema_folder(), place / "schema-folder")
    spec = Spec(place / "spec", place / "schema-folder")
    for revision in load_pins(spec.schema):
        content = spec.write(revision, snapshot_file(revision, spec.schema).read_bytes())
        add(revision, content, Origin(date="2030-01-02"), revision, spec.schema)
    return spec


@pytest.fixture
def spec(_pinned_spec: "Spec", tmp_path: Path) -> "Spec":
    """Return pins and an unchanged specification; a copy for one test."""
    shutil.copytree(_pinned_spec.folder, tmp_path / "spec")
    shutil.copytree(_pinned_spec.schema, tmp_path / "schema-folder")
    return type(_pinned_spec)(tmp_path / "spec", tmp_path / "schema-folder")


@pytest.fixture
def little(mcp_gen: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has commands generate packages of few files, in no time."""
    from support.generating import generate_little, trying_nothing

    monkeypatch.setattr("mcp_protogen.pipeline.generate.generate", generate_little)
    monkeypatch.setattr("mcp_protogen.pipeline.output.trial.try_package", trying_nothing)


@pytest.fixture
def vectors_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making the vectors of a revision takes longer than trying a small target with them."""
    from support import made_once

    made_once.put_in_place(monkeypatch)
