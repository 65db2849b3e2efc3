"""Packages without a runtime of their own: they stand on one that is installed."""

import importlib.util
from types import ModuleType
from typing import Any

import pytest
from mcp_protogen.base.resources import runtime_folder

NAME = "mcp_protogen_runtime"


def runtime_called(name: str, **versions: str) -> Any:
    """Return the top of the runtime, imported under a name, with other versions in it."""
    spec = importlib.util.spec_from_file_location(name, runtime_folder() / "__init__.py")
    assert spec is not None and spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for version, value in versions.items():
        setattr(module, version, value)
    return module


def test_a_runtime_serves_packages_of_its_version_and_of_those_before_it() -> None:
    runtime = runtime_called(NAME, __version__="0.10.2", SERVES_FROM="0.9")
    for made_for in ("0.9", "0.9.0", "0.9.12", "0.10.0rc1", "0.10.2"):
        runtime.require_version(made_for, "pkg")
    for made_for in ("0.8.9", "0.10.3", "0.11", "1.0.0"):
        with pytest.raises(ImportError) as caught:
            runtime.require_version(made_for, "pkg")
        said = f"pkg was generated for mcp_protogen_runtime {made_for}, and 0.10.2 is installed"
        mend = f"pip install 'mcp-protogen-runtime=={made_for}'; or generate pkg anew"
        assert str(caught.value) == f"{said}: {mend} with mcp-gen 0.10.2: mcp-gen sync"
        assert caught.value.name == NAME


def test_a_runtime_of_another_name_is_not_looked_for_at_an_index() -> None:
    runtime = runtime_called("ours.runtime", __version__="0.1.0")
    with pytest.raises(ImportError, match=r"ours\.runtime 0\.2\.0, .*: put version 0\.2\.0 in its"):
        runtime.require_version("0.2.0", "pkg")
