"""What a wheel needs, as CycloneDX: names, versions, licences, digests, and what needs what.

cyclonedx-py describes an environment that has the wheel with its extras and nothing else, with the
versions of requirements-dev.lock, on which the tests of the release ran. pip's report says what
cyclonedx-py does not know: digests of what came from an index, and what is needed only with extras.
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
"""Extras for who works on the sources: nothing in a wheel uses what they bring."""


def bill_of(wheel: Path, lock: Path, work: Path, epoch: str) -> str:
    """Return what a wheel needs, as JSON; raise `NotReleasable` if that is not CycloneDX 1.6.

    The same wheel and lock give the same text on one system. Some of what is needed has wheels for
    each system, whose digests differ.
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
    check_bill(text, f"what {name} {version} needs")
    return text


def check_bill(text: str, what: str) -> None:
    """Raise `NotReleasable` for a text that is not CycloneDX 1.6, in JSON, with no more members."""
    # Only the environment of a release has it.
    version = import_module("cyclonedx.schema").SchemaVersion.V1_6
    validator = import_module("cyclonedx.validation.json").JsonStrictValidator(version)
    wrong = validator.validate_str(text)
    if wrong is not None:
        raise NotReleasable(f"{what} is no CycloneDX 1.6: {wrong}")


def check_inside(wheel: Path) -> None:
    """Raise `NotReleasable` if a list that is inside of a wheel is no CycloneDX."""
    with ZipFile(wheel) as archive:
        for name in archive.namelist():
            if ".dist-info/sboms/" in name:
                check_bill(archive.read(name).decode(), f"{name} of {wheel.name}")


@dataclass(frozen=True, slots=True)
class Installed:
    """What pip has installed: the SHA-256 of its file, and what it may need."""

    digest: str
    requirements: tuple[Requirement, ...]

    def needs(self, extra: str) -> list[Requirement]:
        """Return what is needed with an extra; with an empty one, what is always needed."""
        env = {"extra": extra}
        return [
            requirement
            for requirement in self.requirements
            if not requirement.marker or requirement.marker.evaluate(env)
        ]


def read_installed(report: Path) -> dict[NormalizedName, Installed]:
    """Return what pip installed, by the name, from its report."""
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
    """Return what is needed for `name` with some of its extras: each, and what it needs itself."""
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
    """Return a document whose subject is the wheel, with digests, scopes and what needs what."""
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
    # It is what all is about. Where it was installed from is a folder of this machine.
    del ours["scope"]
    ours.pop("externalReferences", None)
    dependencies = [
        {"ref": refs[name], "dependsOn": sorted(refs[dependency] for dependency in found)}
        for name, found in sorted(edges.items())
    ]
    return {**document, "components": [*components.values()], "dependencies": dependencies}


def extras(wheel: Path) -> list[str]:
    """Return the extras of a wheel whose requirements are listed, as optional."""
    with ZipFile(wheel) as archive:
        (place,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        provided = message_from_bytes(archive.read(place)).get_all("Provides-Extra", [])
    return sorted({*provided} - _OF_A_CHECKOUT)
