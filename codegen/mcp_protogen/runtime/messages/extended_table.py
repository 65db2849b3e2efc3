"""The method table of a revision with extensions: more methods, and claimed results.

A claimed result is known by its `resultType` (2026-07-28, basic, "resultType"). Types with
additional members are read by subclasses, and written as undeclared members of their own classes.
"""

from collections.abc import Collection
from dataclasses import replace
from functools import cache
from typing import Any

from ..core.errors import RequestId
from ..core.extensions import AddedMembers, ClaimedResult, Extension
from ..core.json import is_object
from ..core.models.added_members import Added, narrow_to, with_members
from ..core.models.base import Validate, validator_of
from ..core.revision import Revision
from ..core.spec import AnyRequest, CallSpec, R, RequestSpec
from .jsonrpc import write_result
from .method_table import MethodTable
from .writing import body_text


class ExtendedTable(MethodTable):
    """A method table with `extensions`; raise `ValueError` for one of another revision."""

    def __init__(self, core: MethodTable, extensions: tuple[Extension, ...]) -> None:
        self._members: dict[str, list[AddedMembers]] = {}
        rules = core.rules
        for extension in extensions:
            rules = rules._replace(**extension.rules)
            for members in extension.members:
                self._members.setdefault(members.method, []).append(members)
            if extension.revision != core.revision:
                wrong = f"is for {extension.revision}, not {core.revision}"
                raise ValueError(f"{extension.identifier} {wrong}")
        parts: tuple[Extension | MethodTable, ...] = (*extensions, core)
        super().__init__(
            core.revision,
            requests={key: spec for part in parts for key, spec in part.requests.items()},
            notifications={key: spec for part in parts for key, spec in part.notifications.items()},
            errors={key: spec for part in parts for key, spec in part.errors.items()},
            input_requests=core.input_requests,
            rules=rules,
        )
        self.core = core
        self.extensions = extensions

    def _added_types(self, method: str) -> Added:
        return tuple(members.load() for members in self._members.get(method, ()))

    def _params_reader(self, spec: CallSpec[Any]) -> Validate:
        added = self._added_types(spec.method)
        return validator_of(with_members(spec.params, added) if added else spec.params)

    def _params_text(self, spec: CallSpec[Any], params: Any, meta: bytes | None) -> bytes | None:
        if spec.method in self._members:
            params = narrow_to(params, (spec.params,))
        return super()._params_text(spec, params, meta)

    def _result_reader(self, spec: AnyRequest) -> Validate:
        read = super()._result_reader(_extend_results(spec, self._added_types(spec.method)))
        claims = self._claims.get(spec.method)
        return read if claims is None else _reader(read, tuple(claims.values()))

    def serialise_result(
        self, spec: RequestSpec[Any, Any, R], id: RequestId, result: R, *, meta: bytes | None = None
    ) -> bytes:
        if isinstance(result, self.claims(spec.method)):
            return write_result(id, body_text(spec, result, meta))
        if spec.method in self._members:
            result = narrow_to(result, spec.results)
        return super().serialise_result(spec, id, result, meta=meta)


@cache
def extended_table(core: MethodTable, extensions: tuple[Extension, ...]) -> ExtendedTable:
    makers = (part.table() for part in extensions if part.table)
    table: ExtendedTable = next(makers, ExtendedTable)(core, extensions)
    return table


@cache
def _extend_results(spec: AnyRequest, added: Added) -> AnyRequest:
    if not added:
        return spec
    results = tuple(with_members(result, added) for result in spec.results)
    return replace(spec, load_results=lambda: results)


@cache
def _reader(read: Validate, claims: tuple[ClaimedResult, ...]) -> Validate:
    claimed = {claim.result_type: claim.load for claim in claims}

    def reading(value: Any) -> Any:
        kind = value.get("resultType") if is_object(value) else None
        load: Any = claimed.get(kind) if isinstance(kind, str) else None
        return read(value) if load is None else validator_of(load())(value)

    return reading


def table_with(revision: Revision, names: Collection[str]) -> MethodTable:
    """Return the table of a revision with the named extensions that the package has."""
    module = revision.load()
    core: MethodTable = module.methods.TABLE
    parts = map(module.__mcp_part__, sorted(names))
    extensions = tuple(part.EXTENSION for part in parts if part is not None)
    return extended_table(core, extensions) if extensions else core
