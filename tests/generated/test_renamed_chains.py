"""Made-up chains of revisions whose methods come, go and get other names, also those of others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, permutations
from types import ModuleType, SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_protogen.base.names import ClassName
from mcp_protogen.pipeline.inputs.translations import Translation
from mcp_protogen.pipeline.ir import ObjectIR, RevisionIR
from mcp_protogen.pipeline.plans.tables import pair_tables
from mcp_protogen.runtime.core.errors import MethodNotFound, Untranslatable
from mcp_protogen.runtime.core.losses import LossReport
from mcp_protogen.runtime.core.spec import AnyRequest, RequestSpec
from mcp_protogen.runtime.messages.codec import Request
from mcp_protogen.runtime.messages.jsonrpc import Call, message_of, parse
from mcp_protogen.runtime.messages.method_table import MethodTable
from mcp_protogen.runtime.translation.table import TranslatingTable
from mcp_protogen.runtime.translation.translator import module_name
from support import tables
from support.compare.code_cases import ASK, side

Names = Mapping[int, str]
"""The names of the methods of one revision, by what they are."""


@st.composite
def chains(draw: st.DrawFn) -> Sequence[Names]:
    """Return revisions, oldest first; a removed method never comes again, but its name may."""
    chain: list[Names] = [{0: "a", 1: "b", 2: "c"}]
    for number in range(draw(st.integers(1, 4))):
        kept = [method for method in chain[-1] if draw(st.integers(0, 4))]
        names = draw(st.permutations("abcde"))
        stays = draw(st.sets(st.sampled_from(sorted(chain[-1]) or [0])))
        after = {
            method: chain[-1][method] if method in stays else name
            for method, name in zip(kept, names, strict=False)
        }
        if len({*after.values()}) < len(after):
            after = dict(zip(kept, names, strict=False))
        adds = draw(st.booleans())
        spare = [name for name in names if name not in after.values()]
        chain.append(after | ({3 + number: spare[0]} if adds and spare else {}))
    return chain


def ir_of(number: int, names: Names) -> RevisionIR:
    types = tuple(
        ObjectIR(ClassName(name), (), (), open=False, origin=name, doc="", deprecated=False)
        for name in ("AskRequestParams", "AskResult")
    )
    methods = tuple(replace(ASK, method=name) for name in sorted(names.values()))
    return replace(side().ir, id=f"r{number}", types=types, methods=methods)


def step_between(number: int, older: Names, newer: Names) -> Translation:
    kept = [(older[method], newer[method]) for method in older.keys() & newer.keys()]
    became = {old: new for old, new in kept if old != new}
    removed = tuple(older[method] for method in older.keys() - newer.keys())
    return Translation(f"r{number}", f"r{number + 1}", became, (), (), removed=removed)


def package_of(chain: Sequence[Names]) -> Any:
    """Return a package with the tables between these revisions, as the generator makes them."""
    parts = dict[str, Any]()
    for number, (older, newer) in enumerate(pairwise(chain)):
        ends = ir_of(number, older), ir_of(number + 1, newer)
        made = pair_tables(*ends, step_between(number, older, newer))
        part = SimpleNamespace(UP=made.up, DOWN=made.down)
        parts[f"translate.{module_name(ends[1].id)}"] = part
    package: Any = ModuleType("made_up")
    package.__mcp_part__ = parts.get
    return package


def table_of(number: int, names: Names) -> MethodTable:
    requests: dict[str, AnyRequest] = {
        name: RequestSpec(
            name,
            senders=frozenset({"client"}),
            load_params=lambda: Any,
            load_results=lambda: (object,),
            params_required=False,
        )
        for name in names.values()
    }
    return MethodTable(f"r{number}", requests=requests, notifications={}, errors={})


def method_sent(table: MethodTable, spec: AnyRequest) -> str | None:
    """Return the method on the wire of a request; None if it is refused."""
    try:
        table.admit(spec, "client")
    except Untranslatable:
        return None
    message = message_of(parse(table.serialise_request(spec, 1, None)))
    assert isinstance(message, Call)
    return message.method


@settings(max_examples=tables.count(60, 1000), deadline=None)
@given(chains())
def test_method_is_the_same_by_any_name_and_never_another_one(chain: Sequence[Names]) -> None:
    package, natives = package_of(chain), [*map(table_of, range(len(chain)), chain)]
    for own, wire in permutations(range(len(chain)), 2):
        ours, theirs = chain[own], chain[wire]
        losses = LossReport(f"r{own}", f"r{wire}")
        table = TranslatingTable(natives[own], natives[wire], package, losses)
        between = chain[min(own, wire) : max(own, wire) + 1]
        shared = {method for method in ours if all(method in names for names in between)}
        for method, name in ours.items():
            expected = theirs[method] if method in shared else None
            assert method_sent(table, natives[own].requests[name]) == expected
        for method, name in theirs.items():
            call = message_of(parse(f'{{"jsonrpc":"2.0","id":1,"method":"{name}"}}'.encode()))
            assert isinstance(call, Call)
            found = table.interpret(call, "client")
            if method in shared:
                assert isinstance(found, Request) and found.spec.method == ours[method]
            elif name in {ours[method] for method in shared}:
                assert isinstance(found, MethodNotFound)
            else:
                # The wire's own method, which a feature may answer.
                assert isinstance(found, Request)
                assert found.spec is natives[wire].requests[name]
        for name in {*"abcde"} - {*theirs.values()}:
            call = message_of(parse(f'{{"jsonrpc":"2.0","id":1,"method":"{name}"}}'.encode()))
            assert isinstance(call, Call)
            assert isinstance(table.interpret(call, "client"), MethodNotFound)
