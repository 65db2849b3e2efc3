"""Enabling and disabling items; see `Toolkit.enable`."""

from collections.abc import Collection, Iterator
from typing import Any, cast

from ..core.errors import LocalError
from ..core.http_request import id_of
from ..core.options import string_set
from ..server.base import SessionBase
from ..server.context import OpenConnection
from .catalogue import FIELDS, LOCK, Catalogue
from .failures import closest
from .links import MountedConnection
from .lookup import tags_of
from .revision_models import LISTS
from .toolkit_runtime import ToolkitRuntime
from .visibility import Switches


def switch(
    runtime: ToolkitRuntime,
    on: bool,
    chosen: tuple[str, ...],
    tags: Collection[str],
    session: SessionBase | None,
    principal_id: str,
) -> None:
    if not string_set(tags, "tags") and not chosen:
        raise TypeError("give the name or a tag of an item")
    if cast(Any, principal_id) is None or (principal_id and session is not None):
        # A client without a principal must not mean all clients.
        raise TypeError("give a session, or a principal_id that is not None")
    catalogue = runtime.catalogue
    to: Collection[OpenConnection] | None = None
    with LOCK:
        known = {key for field in LISTS for key in catalogue.names(field)}
        for name in chosen:
            if name not in known and not _may_have(catalogue, name):
                raise LookupError(f"unknown name {name}{closest(name, known)}")
        visibility = catalogue.switches()
        switches = visibility.everybody
        if session is not None:
            connection = session.__mcp_runtime__.connection
            while connection not in runtime.connections:
                if not isinstance(connection, MountedConnection):
                    why = "requests of this client share no session: write principal_id=…"
                    raise LocalError(f"session: {why}")
                connection = connection.outer
            to = [connection]
            switches = visibility.sessions.setdefault(connection, Switches())
        elif principal_id:
            to = [
                opened
                for opened in runtime.connections
                if id_of(opened.endpoint.principal) == principal_id
            ]
            switches = visibility.principals.setdefault(principal_id, Switches())
        for name in chosen:
            switches.add(name, False, on)
        for tag in tags:
            switches.add(tag, True, on)
        catalogue.update_visible()
    runtime.announce_changes(_kinds_of(catalogue, chosen, tags, known), to)


def _may_have(catalogue: Catalogue, key: str) -> bool:
    return any(
        catalogue.is_open(kind) or any(mount.may_have(kind, key) for mount in catalogue.mounts)
        for kind in FIELDS
    )


def _kinds_of(
    catalogue: Catalogue, chosen: tuple[str, ...], tags: Collection[str], known: set[str]
) -> Iterator[str]:
    for kind, fields in FIELDS.items():
        if not known.issuperset(chosen) or any(
            key in chosen or not {*tags}.isdisjoint(tags_of(catalogue, field, key))
            for field in fields
            for key in catalogue.names(field)
        ):
            yield kind
