"""The types of an SDK that read the values of a revision, found by the matches."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mcp_protogen.instep.audit.description import Description
from mcp_protogen.instep.audit.expected import ExpectedTypes
from mcp_protogen.instep.audit.fitting import members_of
from mcp_protogen.instep.audit.matching import Matching
from mcp_protogen.instep.audit.member_types import leaves
from mcp_protogen.instep.vectors.envelope import ENVELOPES
from mcp_protogen.pipeline.ir import OTHER, MethodIR, Ref


@dataclass(frozen=True, slots=True)
class Decoder:
    """The types of the SDK that read one kind of value.

    If the SDK has separate types for the envelope of JSON-RPC, `envelope` are those types, and
    `inside` is the member that `keys` read; it is empty if that is everything except the envelope.
    """

    keys: tuple[str, ...]
    envelope: tuple[str, ...] = ()
    inside: str = ""


@dataclass(frozen=True, slots=True)
class Decoders:
    """The types of the SDK that read all values of a revision.

    Definitions are by name, messages by the keys of the probe. `written` says which members are
    left out when values are written: none (members that are None), unset or all (nothing is left
    out). `envelopes` says whether the SDK reads envelopes of messages.
    """

    types: Mapping[str, Decoder]
    messages: Mapping[str, Decoder]
    written: str = "none"
    envelopes: bool = True


def decoders_of(
    wanted: ExpectedTypes, sdk: Description, matching: Matching, written: str = "none"
) -> Decoders:
    """Return the types of the SDK that read the values of a revision."""
    types: dict[str, Decoder] = {}
    for name, wire_name in wanted.wire_names.items():
        keys = _keys(name, matching)
        kind = _kind(name, wanted)
        if keys and _is_read(name, wanted):
            apart = bool(kind) and not _has_envelope(sdk, keys[0])
            types[wire_name] = Decoder(keys, _envelope(kind, matching) if apart else ())
    messages = {
        subject: entry
        for method in wanted.ir.methods
        if method.kind != "embedded"
        for subject, entry in _messages(method, sdk, matching)
    }
    return Decoders(types, messages, written, _knows_envelopes(wanted, sdk, matching))


def _knows_envelopes(wanted: ExpectedTypes, sdk: Description, matching: Matching) -> bool:
    """Return whether the SDK has types of envelopes, or messages that include them."""
    keys = (key for name in wanted.messages for key in _keys(name, matching))
    around = any(_envelope(kind, matching) for kind in ENVELOPES)
    return around or any(_has_envelope(sdk, key) for key in keys)


def _is_read(name: str, wanted: ExpectedTypes) -> bool:
    """Return whether values are read as this type.

    Values of a base are read as one of its subtypes, and the answers to a method as its messages.
    """
    if name in wanted.inline_definitions and "result" in members_of(name, wanted):
        return False
    return name in wanted.senders or wanted.resolve(name) is not None


def _kind(name: str, wanted: ExpectedTypes) -> str:
    """Return the kind of a message with its envelope, or of a union of such; else empty."""
    kinds = {
        str(method.message): method.kind
        for method in wanted.ir.methods
        # Only later revisions define messages together with their envelope.
        if "jsonrpc" in members_of(str(method.message), wanted)
    }
    found = {
        kinds.get(leaf.name, "") if isinstance(leaf, Ref) else ""
        for leaf in leaves(Ref(name), wanted.resolve)
    }
    kind = found.pop() if len(found) == 1 else ""
    return kind if kind in ENVELOPES else ""


def _messages(
    method: MethodIR, sdk: Description, matching: Matching
) -> Iterator[tuple[str, Decoder]]:
    keys = _keys(method.message, matching)
    if keys:
        around = () if _has_envelope(sdk, keys[0]) else _envelope(method.kind, matching)
        for sender in method.senders:
            yield f"{method.method}:{method.kind}:{sender}", Decoder(keys, around)
    results = tuple(key for name in method.results for key in _keys(name, matching))
    around = _envelope("result", matching)
    if method.kind == "request" and results and around:
        for sender in method.senders:
            yield f"{method.method}:result:{OTHER[sender]}", Decoder(results, around, "result")


def _envelope(kind: str, matching: Matching) -> tuple[str, ...]:
    return next((keys for name in ENVELOPES[kind] if (keys := _keys(name, matching))), ())


def _has_envelope(sdk: Description, key: str) -> bool:
    """Return whether a class, or every arm of an alias, has the members of the envelope."""
    arms = leaves(Ref(key), sdk.resolve)
    keys = [arm.name for arm in arms if isinstance(arm, Ref)]
    return all(any(m.wire == "jsonrpc" for m in sdk.types[key].members) for key in keys)


def _keys(name: str, matching: Matching) -> tuple[str, ...]:
    """Return all types that stand for a type of the schema."""
    match = matching.matches.get(name)
    return (match.key, *match.variants) if match else ()
