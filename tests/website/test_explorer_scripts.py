"""The JavaScript of the explorer: its types, its size, and its tools."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import website
from support.peers.places import Command, node_modules
from support.website.explorer import data, explorer, require_libraries

WEBSITE: Final = Path(website.__file__).parent
ASSETS: Final = WEBSITE / "assets" / "explorer"


@pytest.mark.long
def test_tsc_finds_nothing_in_the_modules(tmp_path: Path) -> None:
    shown = "whether the modules of the explorer have the types that they say"
    library = require_libraries(shown) / "@cfworker" / "json-schema" / "dist" / "esm" / "index.d.ts"
    tsc = node_modules("package-typescript.json", shown) / "typescript" / "bin" / "tsc"
    settings: dict[str, Any] = {
        "extends": str(WEBSITE / "tsconfig.json"),
        "compilerOptions": {"paths": {"@cfworker/json-schema": [str(library)]}},
        "include": [f"{WEBSITE}/assets/**/*.js", f"{WEBSITE}/assets/**/*.d.ts"],
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps(settings))
    command: Command = [
        shutil.which("node") or "",
        tsc,
        "-p",
        tmp_path,
        "--pretty",
        "false",
        "--listFiles",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    read = {Path(line) for line in done.stdout.splitlines() if line.startswith(str(ASSETS))}
    complaints = [line for line in done.stdout.splitlines() if "error TS" in line]
    assert complaints == [] and done.returncode == 0
    assert read >= set(ASSETS.rglob("*.js"))


def test_the_lock_names_no_registry_and_a_digest_for_each_package() -> None:
    lock = json.loads((WEBSITE / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages
    for package in packages.values():
        assert "resolved" not in package
        assert package["integrity"].startswith("sha512-")


def test_the_first_view_is_small_and_no_file_asks_for_another_place() -> None:
    folder = explorer()
    first = ("index.html", "explorer.css", "explorer.js", "data/index.js")
    assert sum((folder / name).stat().st_size for name in first) < 160_000
    page = (folder / "index.html").read_text()
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in page
    for script in ("explorer.js", "judge.js"):
        code = (folder / script).read_text()
        assert "eval(" not in code and "Function(" not in code and "fetch(" not in code


def test_each_file_of_data_that_the_index_names_is_there() -> None:
    index = data("index")
    names = {revision["id"] for revision in index["revisions"]}
    names |= {f"{extension['revision']}+{extension['name']}" for extension in index["extensions"]}
    names |= {"..".join(pair) for pair in index["pairs"]}
    files = {file.stem for file in (explorer() / "data").iterdir()}
    assert files == {*names, "findings", "index"}
