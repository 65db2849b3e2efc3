"""The options of targets: the made and kept files, and refusals."""

import json
import re
from pathlib import Path

from mcp_protogen.cli import completion
from support import formats
from support.running import Run
from support.tables import case

ONE = ("--revision", "2025-06-18", "--out", "pkg")
ALONE = (*ONE, "--only", "capabilities")


def _paths() -> list[str]:
    return sorted(path.name for path in Path("pkg").rglob("*") if path.is_file())


def _options() -> dict[str, object]:
    found: dict[str, object] = json.loads(Path("pkg/mcp-gen.lock").read_text())["options"]
    return found


def test_a_module_is_put_beside_files_of_somebody_s_package(mcp_gen: Run) -> None:
    Path("pkg").mkdir()
    Path("pkg/__init__.py").write_text("OWN = 1\n")
    assert mcp_gen(*ALONE).code == 0
    assert _paths() == ["__init__.py", "mcp-gen.lock", "v2025_06_18.py"]
    assert Path("pkg/__init__.py").read_text() == "OWN = 1\n"
    # The user's own file is neither judged nor counted.
    assert "1 revision, 2 files" in mcp_gen("--out", "pkg", "--check").out
    assert mcp_gen("--out", "pkg", "--check", "--regenerate").code == 0
    assert mcp_gen("sync", "pkg").code == 0


def test_a_file_of_one_s_own_with_the_name_of_a_module_stops_the_run(mcp_gen: Run) -> None:
    Path("pkg").mkdir()
    Path("pkg/v2025_06_18.py").write_text("OWN = 1\n")
    ran = mcp_gen(*ALONE)
    assert (ran.code, "foreign-file" in ran.err) == (2, True)
    assert _paths() == ["v2025_06_18.py"]


def test_a_package_has_a_module_for_each_layer_and_no_other_files(mcp_gen: Run) -> None:
    assert mcp_gen(*ALONE, "--only", "methods", "--layout", "package").code == 0
    modules = ["__init__.py", "__init__.py", "capabilities.py", "mcp-gen.lock", "methods.py"]
    assert _paths() == [*modules, "py.typed"]
    Path("pkg/own.py").write_text("")
    assert "foreign: own.py" in mcp_gen("--out", "pkg", "--check").out
    # Another layout takes the modules of this one away.
    assert mcp_gen(*ONE, "--only", "methods,capabilities", "--prune").code == 0
    assert _paths() == ["mcp-gen.lock", "own.py", "v2025_06_18.py"]


def test_a_folder_keeps_its_target_options_unless_others_are_given(mcp_gen: Run) -> None:
    members = {"base-class": "own:Base", "extra": "ignore", "root-models": True}
    said = ("--base-class", "own:Base", "--extra", "ignore", "--root-models")
    assert mcp_gen(*ONE, "--target", "pydantic", *said).code == 0
    usual = {"target": "pydantic", "only": ["models"], "layout": "single"}
    assert _options() == {**usual, **members}
    assert mcp_gen("--out", "pkg", "--dry-run").out.startswith("pkg: 0 files")
    checked = mcp_gen("--out", "pkg", "--check", "--extra", "forbid")
    assert (checked.code, "extra was 'ignore' and is 'forbid'" in checked.out) == (1, True)
    assert mcp_gen("--out", "pkg", "--extra", "forbid", "--no-root-models").code == 0
    del members["root-models"]
    assert _options() == {**usual, **members, "extra": "forbid"}
    assert mcp_gen("--out", "pkg", "--only", "models").code == 0
    assert _options() == usual


def test_settings_have_the_target_options(mcp_gen: Run) -> None:
    Path("pyproject.toml").write_text("""
        [tool.mcp-gen]
        revision = "2025-06-18"
        out = "pkg"
        target = "pydantic"
        only = ["methods"]
        layout = "package"
        base-class = "own:Base"
        extra = "allow"
        root-models = false
        names = "names.json"
        """)
    Path("names.json").write_text('{"modules": {"2025-06-18": "_old"}}')
    assert mcp_gen().code == 0
    assert Path("pkg/_old/methods.py").is_file()
    options = _options()
    assert len(str(options.pop("names"))) == 64
    members = {"layout": "package", "base-class": "own:Base", "extra": "allow"}
    assert options == {"target": "pydantic", "only": ["methods"], **members}
    assert mcp_gen("--check").code == 0
    Path("names.json").write_text("{}")
    assert "names was" in mcp_gen("--check").out
    Path("pyproject.toml").write_text('[tool.mcp-gen]\nlayout = "flat"\nroot-models = 1\n')
    ran = mcp_gen()
    assert ran.err.count("bad-config") == 2


def test_options_of_typescript_are_settings_and_in_the_lock(mcp_gen: Run) -> None:
    Path("pyproject.toml").write_text("""
        [tool.mcp-gen]
        revision = "2025-06-18"
        out = "pkg"
        target = "typescript"
        inline-objects = true
        types-only = true
        quotes = "single"
        names = "names.json"
        """)
    Path("names.json").write_text('{"modules": {"2025-06-18": "spec.types.2025-06-18"}}')
    assert mcp_gen().code == 0
    assert _paths() == ["mcp-gen.lock", "spec.types.2025-06-18.ts"]
    members = {"inline-objects": True, "types-only": True, "quotes": "single"}
    assert members.items() <= _options().items()
    assert formats.faults("lock", Path("pkg/mcp-gen.lock").read_text()) == []
    assert mcp_gen("--check", "--regenerate").code == 0
    checked = mcp_gen("--check", "--quotes", "double", "--no-types-only", "--no-inline-objects")
    assert checked.code == 1
    for setting in members:
        assert f"{setting} was" in checked.out
    lock = Path("pkg/mcp-gen.lock")
    lock.write_text(
        lock.read_text()
        .replace('"single"\n', '"none"\n')
        .replace('"quotes": "single"', '"quotes": "none"')
    )
    assert "error[bad-lock]" in mcp_gen("--check").err


def test_file_names_that_are_not_identifiers_are_for_typescript_alone(mcp_gen: Run) -> None:
    names = Path("names.json")
    for name in ("spec.types", "2025-06-18", "../x", ".x", "x.", "__init__", "a b", ""):
        names.write_text(json.dumps({"modules": {"2025-06-18": name}}))
        with case(name):
            said = (*ONE, "--only", "models", "--names", "names.json")
            assert "error[unsafe-name]" in mcp_gen(*said).err or name == ""
            ran = mcp_gen(*said, "--target", "typescript", "--dry-run")
            assert ("error[unsafe-name]" in ran.err) == (
                name not in ("spec.types", "2025-06-18", "")
            )


REFUSED = (
    ("unknown-target", ("--target", "pydantc")),
    ("unknown-target", ("--target", "rust")),
    ("unknown-layer", ("--only", "model")),
    ("unknown-layer", ("--only", ",")),
    ("unsafe-name", ("--target", "pydantic", "--base-class", "models.Base")),
    ("unsafe-name", ("--target", "pydantic", "--base-class", "class.models:Base")),
    ("unsafe-name", ("--target", "pydantic", "--base-class", "models:None")),
    ("wrong-usage", ("--only", "models", "--layout", "flat")),
    ("conflicting-options", ("--layout", "single")),
)
OF_PACKAGES = {
    "--with": "stdio",
    "--runtime": "mcp_protogen_runtime",
    "--extension": "tasks",
    "--templates": ".",
}
BESIDE = {
    **OF_PACKAGES,
    "--base-class": "own:Base",
    "--extra": "allow",
    "--quotes": "single",
}


def test_invalid_target_options_are_single_clear_error(mcp_gen: Run) -> None:
    for code, options in REFUSED:
        with case(options):
            ran = mcp_gen(*ONE, *options)
            assert (ran.code, ran.err.count("error[")) == (2, 1)
            assert f"error[{code}]" in ran.err
    for flag, value in BESIDE.items():
        with case(flag):
            ran = mcp_gen(*ONE, "--target", "typeddict", flag, value)
            assert (ran.code, ran.err.count("error[")) == (2, 1)
            assert "error[conflicting-options]" in ran.err and flag in ran.err
    assert not Path("pkg").exists()


def test_folder_of_a_target_takes_no_option_of_packages(mcp_gen: Run) -> None:
    assert mcp_gen(*ALONE).code == 0
    before = {path: Path("pkg", path).read_bytes() for path in _paths()}
    for flag, value in OF_PACKAGES.items():
        with case(flag):
            ran = mcp_gen("--out", "pkg", flag, value)
            assert (ran.code, ran.err.count("error[")) == (2, 1)
            assert f"error[conflicting-options]: {flag} is for whole packages" in ran.err
    assert {path: Path("pkg", path).read_bytes() for path in _paths()} == before


def test_a_folder_with_a_whole_package_keeps_it(mcp_gen: Run, little: None) -> None:
    assert mcp_gen(*ONE).code == 0
    ran = mcp_gen(*ONE, "--only", "models")
    assert (ran.code, "conflicting-options" in ran.err) == (2, True)


def test_a_revision_of_a_file_that_is_not_named_again_is_not_kept(mcp_gen: Run) -> None:
    schema = Path(__file__).parents[2] / "schema" / "2025-06-18" / "schema.json"
    Path("own.json").write_bytes(schema.read_bytes())
    own = ("--revision", "own", "--schema", "own.json", "--out", "pkg", "--only", "methods")
    assert mcp_gen(*own).code == 0
    ran = mcp_gen(*ALONE)
    assert (ran.code, "error[needs-schema]" in ran.err) == (2, True)


def test_a_name_in_the_way_of_a_table_is_refused_where_both_are_in_one_module(
    mcp_gen: Run,
) -> None:
    Path("names.json").write_text('{"types": {"2025-06-18": {"Tool": "MethodInfo"}}}')
    said = (*ONE, "--only", "models,methods", "--names", "names.json")
    ran = mcp_gen(*said)
    assert (ran.code, "error[name-collision]" in ran.err) == (2, True)
    assert mcp_gen(*said, "--layout", "package").code == 0


def test_a_whole_package_has_names_of_one_s_own_if_it_has_one_revision(mcp_gen: Run) -> None:
    Path("names.json").write_text('{"types": {"2025-06-18": {"Tool": "Utility"}}}')
    assert mcp_gen(*ONE, "--with", "none", "--names", "names.json").code == 0
    models = "".join(path.read_text() for path in Path("pkg").glob("v*/models/*.py"))
    assert "class Utility(" in models and "class Tool(" not in models
    ran = mcp_gen("--revision", "all", "--out", "all", "--names", "names.json")
    assert (ran.code, "error[conflicting-options]" in ran.err) == (2, True)
    Path("modules.json").write_text('{"modules": {"2025-06-18": "_old"}}')
    ran = mcp_gen(*ONE, "--names", "modules.json")
    assert "error[conflicting-options]: modules.json#/modules/2025-06-18" in ran.err
    Path("pyproject.toml").write_text('[tool.mcp-gen]\nout = "pkg"\n')
    ran = mcp_gen("sync", "pkg", "--check")
    assert "names was" in ran.out
    assert "error[other-names]" in mcp_gen("sync", "pkg").err


def test_targets_and_layers_are_completed() -> None:
    assert completion.target("p") == ["pydantic"]
    assert completion.layer("m") == ["models", "methods"]


def test_options_of_typescript_are_completed(mcp_gen: Run) -> None:
    flags = {"--inline-objects", "--types-only", "--quotes"}
    assert flags <= set(re.findall(r"--[a-z-]+", mcp_gen("generate", "--help").out))


def test_a_lock_with_target_options_has_the_published_format(mcp_gen: Run) -> None:
    Path("names.json").write_text('{"types": {"2025-06-18": {"Tool": "Utility"}}}')
    assert mcp_gen(*ALONE, "--names", "names.json", "--extra", "allow").code == 0
    lock = Path("pkg/mcp-gen.lock")
    text = lock.read_text()
    assert formats.faults("lock", text) == []
    faults = ('"capabilities"', '"model"'), ('"single"', '"flat"'), ('"allow"', '"own"')
    for old, new in (*faults, ('"pydantic"', '["pydantic"]')):
        with case(new):
            lock.write_text(text.replace(old, new))
            ran = mcp_gen("--out", "pkg", "--check")
            assert (ran.code, "error[bad-lock]" in ran.err) == (2, True)
    # A lock may be foreign, and its names go into code.
    lock.write_text(text.replace('"extra": "allow"', '"base-class": "a:B\\nimport os"'))
    assert "error[unsafe-name]" in mcp_gen("--out", "pkg").err
