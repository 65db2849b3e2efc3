"""How much it matters to whom what an implementation does with a vector."""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_protogen.compare.change import Reader, Severity


@dataclass(frozen=True, slots=True)
class Weight:
    """The severities of a kind of finding: for who builds on the implementation, who maintains it
    and who passes on what it wrote, with the reason in a sentence."""

    builds: Severity
    maintains: Severity
    passes_on: Severity
    why: str


_BREAKING, _WARNING, _INFO = Severity.BREAKING, Severity.WARNING, Severity.INFO

WEIGHTS: Mapping[str, Weight] = {
    "refuses-valid": Weight(
        _BREAKING, _BREAKING, _BREAKING, "A peer that keeps to the schema cannot be talked to."
    ),
    "accepts-invalid": Weight(
        _INFO, _WARNING, _WARNING, "A peer's mistake goes unnoticed, and further on."
    ),
    "crashes": Weight(
        _BREAKING, _BREAKING, _BREAKING, "A peer can end the program with a single message."
    ),
    "hangs": Weight(
        _BREAKING, _BREAKING, _BREAKING, "A peer can stop the program with a single message."
    ),
    "loses-member": Weight(
        _WARNING, _BREAKING, _BREAKING, "What a peer said is gone once it was read."
    ),
    "loses-null": Weight(
        _INFO, _WARNING, _WARNING, "A member that is null was said, one that is absent was not."
    ),
    "loses-undeclared": Weight(
        _INFO,
        _INFO,
        _WARNING,
        "Extensions and later revisions add members; who passes messages on has to keep them.",
    ),
    "adds-member": Weight(
        _INFO, _WARNING, _WARNING, "A peer is told what nobody said, null members above all."
    ),
    "changes-member": Weight(
        _WARNING, _BREAKING, _BREAKING, "What is written is not what was read."
    ),
}
"""By code of finding."""


def severities(code: str, receiver: str = "") -> Mapping[Reader, Severity]:
    """The severities of a finding; with a `receiver`, the only side that reads such messages.

    The other side meets a fault in reading only as a peer that misbehaves.
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
    """The reason for the severities."""
    return WEIGHTS[code].why
