"""The severities of what an implementation does with a vector, for each reader."""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_protogen.findings.change import Reader, Severity


@dataclass(frozen=True, slots=True)
class Weight:
    """The severities of a kind of finding, with the reason in a sentence.

    They are for users of the implementation, for its maintainers, and for those who pass on its
    output.
    """

    builds: Severity
    maintains: Severity
    passes_on: Severity
    why: str


_BREAKING, _WARNING, _INFO = Severity.BREAKING, Severity.WARNING, Severity.INFO

WEIGHTS: Mapping[str, Weight] = {
    "refuses-valid": Weight(
        _BREAKING, _BREAKING, _BREAKING, "It cannot talk to a peer that follows the schema."
    ),
    "accepts-invalid": Weight(
        _INFO, _WARNING, _WARNING, "A peer's mistake is not noticed, and may be passed on."
    ),
    "crashes": Weight(
        _BREAKING, _BREAKING, _BREAKING, "A peer can end the program with a single message."
    ),
    "hangs": Weight(
        _BREAKING, _BREAKING, _BREAKING, "A peer can stop the program with a single message."
    ),
    "loses-member": Weight(
        _WARNING, _BREAKING, _BREAKING, "A part of the peer's message is lost when it is read."
    ),
    "loses-null": Weight(
        _INFO, _WARNING, _WARNING, "A member that is null is not the same as an absent one."
    ),
    "loses-undeclared": Weight(
        _INFO,
        _INFO,
        _WARNING,
        "Extensions and later revisions add members, which must be kept in passed messages.",
    ),
    "adds-member": Weight(
        _INFO, _WARNING, _WARNING, "A peer gets members that nobody wrote, mostly null ones."
    ),
    "changes-member": Weight(
        _WARNING, _BREAKING, _BREAKING, "The written value is not the one that was read."
    ),
}
"""The weights by code of finding."""


def severities(code: str, receiver: str = "") -> Mapping[Reader, Severity]:
    """Return the severities of a finding; `receiver` is the only side that reads it, if any.

    The other side only sees a reading fault as a peer that misbehaves.
    """
    weight = WEIGHTS[code]
    found = {
        Reader.CLIENT: weight.builds,
        Reader.SERVER: weight.builds,
        Reader.SDK: weight.maintains,
        Reader.GATEWAY: weight.passes_on,
    }
    for side in (Reader.CLIENT, Reader.SERVER):
        if receiver and side != receiver:
            found[side] = Severity.INFO
    return found


def why(code: str) -> str:
    """Return the reason for the severities."""
    return WEIGHTS[code].why
