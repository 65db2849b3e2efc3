"""The requirements of a wheel as CycloneDX: names, versions, licences, digests, dependencies.

cyclonedx-py describes an environment that has the wheel with its extras and nothing else, with the
versions of requirements-dev.lock, which the tests of the release used. pip's report adds digests,
and the requirements of extras.
"""

import json
import sys
import venv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email import message_from_bytes
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from releasing.building import run
from releasing.changelog import NotReleasable

_OF_A_CHECKOUT: Final = frozenset({"dev", "site"})
"""Extras for contributors, which no wheel uses."""


def bill_of(wheel: Path, lock: Path, work: Path, epoch: str) -> str:
    """Return the requirements of a wheel as JSON; raise `NotReleasable` if it is invalid.

    The same wheel and lock give the same text on one system. Some requirements have another wheel,
    and so another digest, on each system.
    """
    environment, report = work / "environment", work / "report.json"
    venv.create(environment, with_pip=False)
    name, version = wheel.name.split("-")[:2]
    run(
        *(sys.executable, "-m", "pip", "--python", environment, "install", "--quiet"),
        *("--no-compile", "--constraint", lock, "--report", report),
        f"{wheel}[{','.join(extras(wheel))}]",
        cwd=work,
    )
    listed = run(
        *(sys.executable, "-m", "cyclonedx_py", "environment", "--spec-version", "1.6"),
        *("--output-reproducible", "--output-format", "JSON", environment),
        cwd=work,
        SOURCE_DATE_EPOCH=epoch,
    )
    document = complete_sbom(json.loads(listed), wheel, read_installed(report))
    text = json.dumps(document, indent=2) + "\n"
    check_bill(text, f"the list of {name} {version}")
    return text


def check_bill(text: str, what: str) -> None:
    """Raise `NotReleasable` unless a text is strict CycloneDX 1.6 in JSON."""
    # Only the environment of releases has this library.
    version = import_module("cyclonedx.schema").SchemaVersion.V1_6
    validator = import_module("cyclonedx.validation.json").JsonStrictValidator(version)
    wrong = validator.validate_str(text)
    if wrong is not None:
        raise NotReleasable(f"{what} is not CycloneDX 1.6: {wrong}")


def check_inside(wheel: Path) -> None:
    """Raise `NotReleasable` if a list inside a wheel is not CycloneDX."""
    with ZipFile(wheel) as archive:
        for name in archive.namelist():
            if ".dist-info/sboms/" in name:
                check_bill(archive.read(name).decode(), f"{name} of {wheel.name}")


@dataclass(frozen=True, slots=True)
class Installed:
    """A distribution installed by pip: the SHA-256 of its file, and its requirements."""

    digest: str
    requirements: tuple[Requirement, ...]

    def needs(self, extra: str) -> list[Requirement]:
        """Return the requirements of an extra, or without a name those that always apply."""
        env = {"extra": extra}
        return [
            requirement
            for requirement in self.requirements
            if not requirement.marker or requirement.marker.evaluate(env)
        ]


def read_installed(report: Path) -> dict[NormalizedName, Installed]:
    """Return the installed distributions by name, from a report of pip."""
    return {
        canonicalize_name(package["metadata"]["name"]): Installed(
            package["download_info"]["archive_info"]["hashes"]["sha256"],
            tuple(map(Requirement, package["metadata"].get("requires_dist", ()))),
        )
        for package in json.loads(report.read_bytes())["install"]
    }


_Edges = dict[NormalizedName, set[NormalizedName]]


def needing(
    known: Mapping[NormalizedName, Installed], name: NormalizedName, extras: Iterable[str] = ()
) -> _Edges:
    """Return the requirements of `name` with some extras, and their requirements, as edges."""
    edges: _Edges = {}
    seen: set[tuple[NormalizedName, str]] = set()
    waiting = [(name, extra) for extra in ("", *extras)]
    while waiting:
        one, extra = waiting.pop()
        if (one, extra) in seen:
            continue
        seen.add((one, extra))
        found = edges.setdefault(one, set())
        for requirement in known[one].needs(extra):
            other = canonicalize_name(requirement.name)
            found.add(other)
            waiting += [(other, wanted) for wanted in ("", *requirement.extras)]
    return edges


def complete_sbom(
    document: dict[str, Any], wheel: Path, known: Mapping[NormalizedName, Installed]
) -> dict[str, Any]:
    """Return the document with the wheel as its subject, and with digests, scopes and edges."""
    name = canonicalize_name(wheel.name.partition("-")[0])
    components = {
        canonicalize_name(component["name"]): component for component in document["components"]
    }
    always, edges = needing(known, name), needing(known, name, extras(wheel))
    for called, component in components.items():
        component["hashes"] = [{"alg": "SHA-256", "content": known[called].digest}]
        component["purl"] = f"pkg:pypi/{called}@{component['version']}"
        component["scope"] = "required" if called in always else "optional"
    refs = {called: component["bom-ref"] for called, component in components.items()}
    document["metadata"]["component"] = ours = components.pop(name)
    # The subject has no scope, and its reference is a folder of this machine.
    del ours["scope"]
    ours.pop("externalReferences", None)
    dependencies = [
        {"ref": refs[name], "dependsOn": sorted(refs[dependency] for dependency in found)}
        for name, found in sorted(edges.items())
    ]
    return {**document, "components": [*components.values()], "dependencies": dependencies}


def extras(wheel: Path) -> list[str]:
    """Return the extras of a wheel for users; their requirements are optional."""
    with ZipFile(wheel) as archive:
        (place,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        provided = message_from_bytes(archive.read(place)).get_all("Provides-Extra", [])
    return sorted({*provided} - _OF_A_CHECKOUT)
