"""The identity provider of `examples/authorization`, as a process: oidc-provider, on Node."""

import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from support.conformance.kit import kit
from support.folders import ROOT
from support.peers.places import Command, install_node, make_once

EXAMPLE: Final = ROOT / "examples" / "authorization"

_PROGRAM: Final = "identity_provider.mjs"


@cache
def _install() -> Path:
    """Return the folder of the installed program; skip the test if it cannot be installed."""
    pins, program = EXAMPLE / "package.json", EXAMPLE / _PROGRAM

    def make(folder: Path) -> None:
        install_node(pins, folder)
        shutil.copy(program, folder)

    return make_once("identity-provider", pins.read_text() + program.read_text(), make)


def provider(resource: str, environment: Mapping[str, str] | None = None) -> Command:
    """The command of a provider that issues tokens for a resource; its port is `PORT`."""
    settings = [f"{name}={value}" for name, value in (environment or {}).items()]
    return ("env", *settings, kit().node, _install() / _PROGRAM, "PORT", resource)
