"""The explorer, made once in a run, and its judge, run by Node as served."""

import atexit
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from mcp_protogen.instep.vectors.vector import Subject, VectorSet
from mcp_protogen.pipeline.config import GenerationOptions
from support.made_once import once, vectors_once
from support.missing import skip_untested
from website.explorer import write
from website.scripts import libraries

Json = dict[str, Any]
_PROGRAM: Final = Path(__file__).with_name("judging.cjs")


def require_libraries(shown: str) -> Path:
    """Return the libraries of the site; skip the test if they cannot be installed."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        skip_untested("node and npm", shown)
    try:
        return libraries()
    except RuntimeError as error:
        skip_untested("what could not be installed", f"{shown} ({str(error).splitlines()[-1]})")


def explorer(shown: str = "the protocol explorer") -> Path:
    require_libraries(shown)
    folder: str = once("the explorer", _make_explorer)
    return Path(folder)


def _make_explorer() -> str:
    folder = Path(os.environ["MADE_ONCE"]) / "explorer"
    with pytest.MonkeyPatch.context() as patch:
        # Probes come from vectors that many tests need; here, from those of some types.
        patch.setattr("website.explorer.findings.make", _vectors)
        write(folder)
    return str(folder)


def _vectors(
    revision: str, options: GenerationOptions, extension: str, _: Callable[[Subject], bool]
) -> VectorSet:
    return vectors_once(revision, options, extension)


def data(name: str) -> Any:
    """Return the value in one file of data, which is a call with its name and its text."""
    script = (explorer() / "data" / f"{name}.js").read_text(encoding="utf-8")
    start = f"mcpExplorer.receive({json.dumps(name)}, "
    assert script.startswith(start) and script.endswith(");\n")
    return json.loads(json.loads(script[len(start) : -3]))


def judge_cases(cases: Iterable[Json]) -> list[Json]:
    """Return the judge's verdict on each case; `judging.cjs` has the format."""
    return [_answer(json.dumps(case, allow_nan=False)) for case in cases]


def _answer(case: str) -> Json:
    judge = _judge()
    assert judge.stdin is not None and judge.stdout is not None
    judge.stdin.write(f"{case}\n")
    judge.stdin.flush()
    answer: Json = json.loads(judge.stdout.readline())
    return answer


@cache
def _judge() -> subprocess.Popen[str]:
    """Start the judge, one process for all tests of this process."""
    command = (shutil.which("node") or "", str(_PROGRAM), str(explorer()))
    pipe = subprocess.PIPE
    judge = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8")
    atexit.register(judge.communicate)
    return judge
