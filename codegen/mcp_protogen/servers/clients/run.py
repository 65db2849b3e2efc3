"""The work of `mcp-gen client`: make or check a module for each client."""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from mcp_protogen.base.canonical import canonical
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.config import ClientSettings
from mcp_protogen.pipeline.output.drift import Cause
from mcp_protogen.pipeline.reports.change import Comparison
from mcp_protogen.pipeline.settings import Settings
from mcp_protogen.servers.clients import package as packages
from mcp_protogen.servers.clients.contract import Contract
from mcp_protogen.servers.clients.differences import compare_contracts
from mcp_protogen.servers.clients.lock import ClientLock, lock_of, read_client_lock
from mcp_protogen.servers.clients.making import causes, write
from mcp_protogen.servers.clients.module import class_of
from mcp_protogen.servers.clients.naming import RESERVED_METHODS
from mcp_protogen.servers.clients.server_contract import listed_contract
from mcp_protogen.servers.connect.named_server import NamedServer


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientJob:
    """One module: its server, None for the contract in its lock, and its options.

    `server` may raise `ProblemError`. `with_package` is the folder of the package to import; it is
    generated if missing. `place` and `pointer` are where a project lists the client.
    """

    module: Path
    server: Callable[[], NamedServer] | None
    package: str | None = None
    with_package: Path | None = None
    tools: tuple[str, ...] = ()
    methods: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout: float = 30.0
    place: str = ""
    pointer: str = ""

    @contextmanager
    def locate_problems(self) -> Generator[None, None, None]:
        """Refuse an unusable module, and locate all problems where the project lists the client."""
        try:
            if self.module.suffix != ".py" or not class_of(self.module).isidentifier():
                message = f"{self.module} is not a Python module"
                raise ProblemError(Problem("wrong-usage", message, hint="write --out FILE.py"))
            yield
        except ProblemError as error:
            raise ProblemError(*map(self._locate, error.problems)) from error

    def _locate(self, problem: Problem) -> Problem:
        if not self.place:
            return problem
        message = ": ".join(filter(None, (problem.where, problem.message)))
        return problem._replace(message=message, place=self.place, pointer=self.pointer)

    def contract(self, lock: ClientLock | None) -> Contract:
        """Return the contract of the server, with the tools of the module.

        The tools of an earlier run stay chosen, unless the server has dropped them.
        """
        if self.server is None:
            if lock is None:
                raise _no_lock(self.module)
            return lock.contract
        found = listed_contract(self.server(), self.timeout)
        if self.tools:
            found = found.only(self.tools)
        elif lock is not None:
            found = lock.chosen_of(found)
        # Some servers list members in another order each time.
        same = lock is not None and canonical(lock.contract.as_json()) == canonical(found.as_json())
        if lock is not None and same:
            return replace(lock.contract, warnings=found.warnings)
        return found


def jobs_of(
    clients: tuple[ClientSettings, ...],
    server_of: Callable[[ClientSettings], NamedServer] | None,
    timeout: float,
) -> Iterator[ClientJob]:
    """Yield the jobs of a project's settings; without `server_of`, no server is asked."""
    for client in clients:
        yield ClientJob(
            module=client.out,
            server=None if server_of is None else partial(server_of, client),
            package=client.package,
            tools=client.tools,
            timeout=timeout,
            place=client.place,
            pointer=client.pointer,
        )


@dataclass(frozen=True, slots=True)
class Made:
    """The result for a module: whether it changed, and warnings."""

    module: Path
    counts: str
    changed: bool
    problems: tuple[Problem, ...]


def make(job: ClientJob, settings: Settings, *, force: bool) -> Made:
    """Write a module and its lock, and a package for clients if the job has one."""
    with job.locate_problems():
        return _make(job, settings, force=force)


def _make(job: ClientJob, settings: Settings, *, force: bool) -> Made:
    before = None if force and job.server is not None else read_client_lock(lock_of(job.module))
    contract = job.contract(before)
    package, folder = _package(job, before, settings)
    tasks = contract.calls_tasks
    problems = packages.ensure(job.with_package, tasks=tasks) if job.with_package else ()
    revision_module, tasks_there = packages.revision_and_tasks(package, folder)
    lock = ClientLock(
        contract=contract,
        package=package,
        revision_module=revision_module,
        tasks=tasks_there,
        methods=_methods(job, before, contract),
        chosen=bool(job.tools) or (before is not None and before.chosen),
    )
    changed, more = write(lock, job.module, force=force)
    problems = (*contract.warnings, *problems, *more)
    return Made(job.module, contract.counts(), changed, problems)


def _methods(job: ClientJob, lock: ClientLock | None, contract: Contract) -> Mapping[str, str]:
    """Return the user's names of methods, by tool, from now or an earlier run."""
    contract.require(job.methods)
    named = {**(lock.methods if lock is not None else {}), **job.methods}
    methods = {tool: name for tool, name in named.items() if tool in contract.tools}
    names = [*methods.values()]
    for name in names:
        if name in RESERVED_METHODS or names.count(name) > 1:
            message = f"--name: {name!r:.80} is the name of another method or attribute"
            hint = "choose another one with --name TOOL=METHOD"
            raise ProblemError(Problem("wrong-usage", message, str(job.module), hint=hint))
    return methods


def _package(
    job: ClientJob, lock: ClientLock | None, settings: Settings
) -> tuple[str, Path | None]:
    """Return the name of the package to import, and its folder if that is known."""
    own = settings.out
    if job.with_package is not None:
        name = job.package or packages.import_name(job.with_package)
        return packages.check_name(name), job.with_package
    named = lock.package if job.package is None and lock is not None else job.package
    if named is not None:
        known = own is not None and _name_of(own) == named
        return packages.check_name(named), own if known else None
    if own is None:
        raise packages.missing_package()
    return packages.import_name(own), own


def _name_of(folder: Path) -> str:
    try:
        return packages.import_name(folder)
    except ProblemError:
        return ""


@dataclass(frozen=True, slots=True)
class CheckedModule:
    """The differences of a module from its lock, and from the contract of the server.

    With `problems`, it could not be checked.
    """

    job: ClientJob
    causes: tuple[Cause, ...] = ()
    comparison: Comparison | None = None
    problems: tuple[Problem, ...] = ()


def check(job: ClientJob) -> CheckedModule:
    """Compare a module with its lock, and with its server if the job has one.

    Raise `ProblemError` if the server cannot be asked, unless a project lists the client.
    """
    try:
        with job.locate_problems():
            return _check(job)
    except ProblemError as error:
        if not job.place:
            raise
        return CheckedModule(job, problems=error.problems)


def _check(job: ClientJob) -> CheckedModule:
    lock = read_client_lock(lock_of(job.module))
    found = tuple(causes(lock, job.module))
    if lock is None or job.server is None:
        return CheckedModule(job, found)
    name = str(lock_of(job.module))
    return CheckedModule(job, found, _against(lock, name, job.server(), job.timeout))


def against_server(name: str, server: NamedServer, timeout: float) -> Comparison:
    """Return the differences of a server from the contract in a lock, or in a module's lock."""
    return _against(_read_lock(name), name, server, timeout)


def between_locks(before: str, after: str) -> Comparison:
    """Return the differences between the contracts in two locks."""
    sides = _read_lock(before).contract, _read_lock(after).contract
    return compare_contracts(*sides, (before, after))


def _against(lock: ClientLock, name: str, server: NamedServer, timeout: float) -> Comparison:
    found = lock.chosen_of(listed_contract(server, timeout))
    return compare_contracts(lock.contract, found, (name, server.safe_text))


def _read_lock(name: str) -> ClientLock:
    path = Path(name)
    path = lock_of(path) if path.suffix == ".py" else path
    lock = read_client_lock(path)
    if lock is None:
        raise _no_lock(path)
    return lock


def _no_lock(path: Path) -> ProblemError:
    message = "there is no lock of a typed client"
    hint = "write one with mcp-gen client SERVER --out FILE.py"
    return ProblemError(Problem("no-client-lock", message, str(path), hint=hint))
