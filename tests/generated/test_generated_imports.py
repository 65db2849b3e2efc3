"""The modules that importing the package loads, seen from fresh interpreters.

A program pays for its use: the package itself needs nothing, messages need Pydantic, stubs need
asyncio, and modules of the generator are never loaded.
"""

import json
import sys
import textwrap
from typing import Any

import pytest
from support import tables
from support.generated.golden_package import REVISIONS
from support.generated.package_copy import copy_folder
from support.programs import run_program
from support.revisions import ERAS

# The possible imports of the package: itself, Pydantic, and Pydantic's dependencies.
ALLOWED = {
    "annotated_types",
    "mcp_revisions",
    "pydantic",
    "pydantic_core",
    "typing_extensions",
    "typing_inspection",
}


def _run(program: str) -> Any:
    """Run `program` with the copied package on the path; return its output, parsed as JSON."""
    path = f"import sys; sys.path.insert(0, {str(copy_folder())!r}); at_start = set(sys.modules)\n"
    output = run_program(
        sys.executable, "-W", "error", "-c", path + textwrap.dedent(program), timeout=60
    )
    return json.loads(output)


def _imports_of(program: str) -> set[str]:
    """Return the modules that `program` imports beyond the interpreter's own."""
    tail = "\nloaded = sorted(set(sys.modules) - at_start)\nimport json; print(json.dumps(loaded))"
    return set(_run(textwrap.dedent(program) + tail))


def _roots(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


def _foreign(modules: set[str]) -> set[str]:
    # The build data of the interpreter is a module that the list of its modules leaves out.
    known = {root for root in _roots(modules) if root.startswith("_sysconfigdata")}
    return _roots(modules) - known - sys.stdlib_module_names - ALLOWED


def test_importing_the_package_imports_next_to_nothing() -> None:
    modules = _imports_of("import mcp_revisions; mcp_revisions.REVISIONS[0].id")
    core = "mcp_revisions._runtime.core"
    expected = {"mcp_revisions", "mcp_revisions._runtime", core, f"{core}.revision"}
    assert {module for module in modules if module.startswith("mcp_revisions")} == expected
    assert not _foreign(modules)
    assert not _roots(modules) & {"pydantic", "typing", "dataclasses", "asyncio", "enum"}


@pytest.mark.parametrize("revision", REVISIONS)
def test_loading_a_revision_imports_that_one_without_stubs(revision: str) -> None:
    modules = _imports_of(f"import mcp_revisions; mcp_revisions.load({revision!r}).models")
    folder = "mcp_revisions.v" + revision.replace("-", "_")
    parts = {module for module in modules if module.startswith("mcp_revisions.v")}
    expected = {folder, *(f"{folder}.{part}" for part in ("models", "methods", "capabilities"))}
    assert parts == expected
    assert "pydantic" in _roots(modules)
    assert not _foreign(modules)
    assert not _roots(modules) & {"asyncio", "ssl", "http"}


def test_reading_and_writing_messages_needs_no_asyncio() -> None:
    for revision in ERAS:
        with tables.case(revision):
            modules = _imports_of(f"""
        import mcp_revisions
        package = mcp_revisions.load({revision!r})
        text = b'{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":1}}}}'
        found = package.methods.parse_notification(text, sender="client")
        written = package.methods.serialise_notification(found.spec, found.params)
        assert found.params.request_id == 1 and b"requestId" in written
        """)
            assert not _foreign(modules)
            assert "asyncio" not in modules


def test_stubs_come_on_first_use() -> None:
    for revision in ERAS:
        with tables.case(revision):
            modules = _imports_of(f"""
        import mcp_revisions
        package = mcp_revisions.load({revision!r})
        assert "asyncio" not in sys.modules
        for name in package.__all__:
            assert getattr(package, name) is not None, name
        assert package.Server is package.server.Server
        assert package.Client is package.client.Client
        """)
            assert "asyncio" in modules
            assert not _foreign(modules)


def test_missing_module_is_clear_error() -> None:
    messages = _run("""
        import json, mcp_revisions
        messages = []
        for attempt in (
            lambda: mcp_revisions.load("1999-01-01"),
            lambda: mcp_revisions.v1999_01_01,
            lambda: mcp_revisions.load("2025-11-25").servant,
        ):
            try:
                attempt()
            except (LookupError, AttributeError) as error:
                messages.append(str(error))
        print(json.dumps(messages))
        """)
    assert len(messages) == 3
    assert "1999-01-01" in messages[0]
    assert REVISIONS[-1] in messages[0], "says which revisions there are"
    assert "v1999_01_01" in messages[1]
    assert "servant" in messages[2]
