"""The known revisions, by pins and facts: a new one joins each test that names none itself.

A test about one revision names it; the revisions of a peer stand beside the peer.
"""

from itertools import pairwise
from typing import Final

from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.inputs import facts
from mcp_protogen.pipeline.inputs.pins import load_pins


def _of(era: str) -> tuple[str, ...]:
    stated = {
        revision: facts.load(schema_folder(), revision).document["lifecycle"]
        for revision in REVISIONS
    }
    return tuple(revision for revision in REVISIONS if stated[revision]["era"] == era)


REVISIONS: Final = tuple(load_pins())
"""All of them, oldest first."""
NEWEST: Final = REVISIONS[-1]
NEIGHBOURS: Final = tuple(pairwise(REVISIONS))
"""Each revision but the first, with the one before it in front."""
HANDSHAKE: Final = _of("handshake")
"""Those that begin with a handshake, oldest first."""
WITHOUT_HANDSHAKE: Final = _of("stateless")
"""Those in which each request stands alone, oldest first."""
OLD: Final = HANDSHAKE[-1]
"""The newest of those with a handshake."""
STATELESS: Final = WITHOUT_HANDSHAKE[-1]
"""The newest of those without."""
ERAS: Final = (OLD, STATELESS)
"""One revision of each era."""
