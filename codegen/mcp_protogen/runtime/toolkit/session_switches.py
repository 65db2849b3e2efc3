"""What was switched for one session, to be carried to another process or to a task."""

from ..server.context import OpenConnection, SessionSwitches
from .catalogue import LOCK, Catalogue
from .visibility import Switches


def switched(catalogue: Catalogue, connection: OpenConnection) -> SessionSwitches:
    """Return what was switched for a session, also in the servers that are mounted."""
    visibility = catalogue.visibility
    own = None if visibility is None else visibility.sessions.get(connection)
    found = [("", text, is_tag, on) for text, is_tag, on in own or ()]
    for mount in catalogue.mounts:
        inner, start = mount.inner(connection, make=False), f"{mount.prefix.text}/"
        if inner is not None:
            runtime, its_own = inner
            below = runtime.switched(its_own)
            found += [(start + place, text, is_tag, on) for place, text, is_tag, on in below]
    return tuple(found)


def switch_all(catalogue: Catalogue, connection: OpenConnection, switched: SessionSwitches) -> None:
    """Switch what is said for a session, in place of all that was before."""
    own = [(text, is_tag, on) for place, text, is_tag, on in switched if not place]
    if own or catalogue.visibility is not None:
        with LOCK:
            switches = catalogue.switches().sessions[connection] = Switches()
            for text, is_tag, on in own:
                switches.add(text, is_tag, on)
            catalogue.show()
    for mount in catalogue.mounts:
        inner, start = mount.inner(connection, make=True), f"{mount.prefix.text}/"
        if inner is not None:
            runtime, its_own = inner
            below = tuple(
                (place.removeprefix(start), text, is_tag, on)
                for place, text, is_tag, on in switched
                if place.startswith(start)
            )
            if below != runtime.switched(its_own):
                runtime.switch_all(its_own, below)
