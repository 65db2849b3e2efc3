"""The trial of a package in a separate interpreter before it is published.

Generation compares each module with its IR; this shows that the modules can be imported, and that
a client and a server of each revision understand each other. Our tests show both for the revisions
of `mcp_revisions` with the default parts, so these are not tried again; of all other selections of
parts and extensions they import only some. Packages from a user's templates are not imported,
because generating must not run code of an untrusted project. Neither are kept revisions.
"""

import json
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.names import module_name
from mcp_protogen.base.problems import Level, Problem, ProblemError, raise_errors
from mcp_protogen.base.resources import runtime_folder
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.output.lock import read_lock
from mcp_protogen.pipeline.package import (
    PINNED,
    RUNTIME_FOLDER,
    GenerationInputs,
    Package,
    RevisionInputs,
)
from mcp_protogen.pipeline.parts import DEFAULT

_PROGRAM = Path(__file__).resolve().with_name("importing.py")
_PATIENCE = 120.0
# The dependencies of the runtime, with their own. All are imported from where ours are.
_NEEDED = ("annotated_types", "pydantic", "pydantic_core", "typing_extensions", "typing_inspection")
_HINT = "report this with the schema that led to it"
_TRIAL_HINT = "correct the schema, for example with --patches; see mcp-gen explain failed-trial"


def try_package(package: Package, options: GenerationOptions) -> tuple[Problem, ...]:
    """Try a package unless our tests have done so: see `import_package`."""
    if is_tried(package.inputs, options):
        return ()
    return import_package(package, options, find_untried(package.inputs, options))


def import_package(
    package: Package, options: GenerationOptions, untried: Collection[str] = ()
) -> tuple[Problem, ...]:
    """Raise `ProblemError` with each module that cannot be imported (`bad-output`).

    Connect the `untried` revisions: raise it also if client and server cannot connect, and return
    warnings about parts that fail (`failed-trial`).
    """
    if options.templates is not None or options.target is not None:
        return ()
    answer = _ask(package, options, untried)
    raise_errors(
        Problem("bad-output", f"cannot be imported: {message:.300}", path, hint=_HINT)
        for path, message in answer["wrong"].items()
    )
    problems = tuple(_problem(step, package) for step in answer["failed"])
    raise_errors(problems)
    return problems


def _ask(
    package: Package, options: GenerationOptions, untried: Collection[str]
) -> Mapping[str, Any]:
    """Return the answer of the other interpreter."""
    question = {
        "path": list(dict.fromkeys(filter(None, map(_folder_of, _NEEDED)))),
        "runtime": str(runtime_folder()),
        "runtime_module": options.runtime,
        "files": {
            file.path: file.content.decode()
            for file in package.files
            if file.path.endswith(".py") and not file.path.startswith(f"{RUNTIME_FOLDER}/")
        },
        "revisions": [module_name(revision) for revision in package.inputs.revisions],
        "connected": sorted(untried),
    }
    try:
        done = subprocess.run(
            [sys.executable, *_flags(), str(_PROGRAM)],
            input=json.dumps(question).encode(),
            capture_output=True,
            cwd=_PROGRAM.parent,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _trial_error(f"{type(error).__name__}: {error}") from error
    if answer := _answer(done.stdout):
        return answer
    last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    ended = f"its interpreter ended with {done.returncode} before it answered"
    raise _trial_error(f"{ended}: {last:.300}" if last else ended)


def _answer(out: bytes) -> dict[str, Any] | None:
    """Return the answer: errors of modules by path, and failures; None if `out` is not one."""
    try:
        answer = json.loads(out)
    except ValueError:
        return None
    return answer if is_object(answer) and answer.keys() == {"wrong", "failed"} else None


def _problem(step: Mapping[str, str], package: Package) -> Problem:
    revision, method, part = step["revision"], step["method"], step["part"]
    source = package.inputs.revisions[revision].source
    place = f"schema/{revision}/schema.json" if source == PINNED else source
    opened = f"no connection is opened{f' by {method}' if method else ''}"
    what = f"{method} of the {part} fails" if part else opened
    message, level = f"{what}: {step['reason']:.300}", Level.WARNING if part else Level.ERROR
    return Problem("failed-trial", message, place, step["pointer"], _TRIAL_HINT, level)


def is_tried(inputs: GenerationInputs, options: GenerationOptions) -> bool:
    """Return whether our tests import what this generator makes of these inputs."""
    tried = _tried_inputs()
    more = (*options.schemas, *options.rules, *options.extensions)
    return (
        tried is not None
        and not more
        and {*options.parts} == {*DEFAULT}
        and tried.generator_digest == inputs.generator_digest
        and tried.templates_digest == inputs.templates_digest
        and not find_untried(inputs, options)
    )


def find_untried(inputs: GenerationInputs, options: GenerationOptions) -> list[str]:
    """Return the revisions that our tests do not try, because they are not in `mcp_revisions`."""
    tried = _tried_inputs()
    known = [_content(revision) for revision in tried.revisions.values()] if tried else []
    return [
        revision
        for revision in options.revisions
        if options.names or _content(inputs.revisions[revision]) not in known
    ]


def _tried_inputs() -> GenerationInputs | None:
    spec, lock = find_spec("mcp_revisions"), None
    if spec is not None and spec.origin is not None:
        with suppress(ProblemError):  # of another package of this name
            lock = read_lock(Path(spec.origin).parent)
    return lock.inputs if lock else None


def _content(inputs: RevisionInputs) -> tuple[str, str, str]:
    return inputs.schema, inputs.patches, inputs.facts


def _flags() -> Iterator[str]:
    """Yield the options of the interpreter.

    It runs isolated, without site: no variables, no working directory, no code from .pth files.
    Compiled modules are in our cache.
    """
    yield from ("-I", "-S", "-X", "utf8")
    if sys.dont_write_bytecode:
        yield "-B"
    if sys.pycache_prefix is not None:
        yield from ("-X", f"pycache_prefix={sys.pycache_prefix}")


def _trial_error(reason: str) -> ProblemError:
    return ProblemError(
        Problem(
            "bad-output", f"the package could not be imported for a trial: {reason}", hint=_HINT
        )
    )


def _folder_of(module: str) -> str | None:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin)
    return str(path.parents[1 if spec.submodule_search_locations else 0])
