"""What a wheel needs, as CycloneDX: names, versions, licences, digests, and what needs what.

cyclonedx-py describes an environment that has the wheel with its extras and nothing else, with the
versions of requirements-dev.lock, on which the tests of the release ran. What only an extra brings
has the scope "optional". It knows no digests of what came from
an index, which pip's report has.
"""

import json
import sys
import venv
from collections.abc import Iterable, Mapping
from email import message_from_bytes
from email.message import Message
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
    document = completed(json.loads(listed), wheel, digests(report))
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


def digests(report: Path) -> dict[NormalizedName, str]:
    """Return the SHA-256 of each file that pip installed, by the name, from its report."""
    installed = json.loads(report.read_bytes())["install"]
    return {
        canonicalize_name(one["metadata"]["name"]): hashes["sha256"]
        for one in installed
        if (hashes := one["download_info"]["archive_info"]["hashes"])
    }


def completed(
    document: dict[str, Any], wheel: Path, known: Mapping[NormalizedName, str]
) -> dict[str, Any]:
    """Return a document whose subject is the wheel, and whose components have digests."""
    name = canonicalize_name(wheel.name.partition("-")[0])
    components = {canonicalize_name(one["name"]): one for one in document["components"]}
    for called, one in components.items():
        one["hashes"] = [{"alg": "SHA-256", "content": known[called]}]
        one["purl"] = f"pkg:pypi/{called}@{one['version']}"
    ours = components.pop(name)
    # Where it was installed from is a folder of this machine.
    ours.pop("externalReferences", None)
    direct = {components[one]["bom-ref"] for one in needed(wheel)}
    edges = {one["ref"]: one.get("dependsOn", ()) for one in document["dependencies"]}
    always = _reached(edges, direct)
    for one in components.values():
        one["scope"] = "required" if one["bom-ref"] in always else "optional"
    document["metadata"]["component"] = ours
    return document | {"components": [*components.values()]}


def extras(wheel: Path) -> list[str]:
    """Return the extras of a wheel whose requirements are listed, as optional."""
    provided: set[str] = {*_metadata(wheel).get_all("Provides-Extra", [])}
    return sorted(provided - _OF_A_CHECKOUT)


def needed(wheel: Path) -> set[NormalizedName]:
    """Return the names of what a wheel needs without its extras."""
    requirements = map(Requirement, _metadata(wheel).get_all("Requires-Dist", []))
    return {
        canonicalize_name(one.name)
        for one in requirements
        if one.marker is None or one.marker.evaluate({"extra": ""})
    }


def _metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        (place,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(place))


def _reached(edges: Mapping[str, Iterable[str]], start: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = [*start]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += edges.get(one, ())
    return found
