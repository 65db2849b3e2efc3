"""A method table whose wire carries another revision than its users speak.

Users see the types of their own revision only. An incoming message is validated against the
revision on the wire first, so that errors describe what the peer wrote, and is then translated. An
outgoing message is translated last. A type that is the same in both revisions is not translated.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

from pydantic_core import PydanticSerializationError

from ..core.errors import METHOD_NOT_FOUND, LocalError, RequestId, Untranslatable
from ..core.json import JSONObject
from ..core.losses import Loss, LossReport, Report
from ..core.models.base import Validate, WireModel, validator_of
from ..core.spec import NotificationSpec, RequestSpec, Role
from ..messages.jsonrpc import write_call, write_result
from ..messages.method_table import MethodTable, Part
from ..messages.parsed import MethodSpecs
from ..messages.results import forgiver
from ..messages.writing import method_text, params_text, spliced
from .steps import Run
from .translator import Translator, translator

P = TypeVar("P")
R = TypeVar("R")
SpecT = TypeVar("SpecT", RequestSpec[Any, Any], NotificationSpec[Any])

# The runtime negotiates with the peer in the revision of the wire.
_LIFECYCLE = frozenset({"initialize", "notifications/initialized"})

_ROLES: tuple[Role, ...] = ("client", "server")


def translating_table(
    own: MethodTable, wire: MethodTable, package: str, notice: LossReport
) -> "TranslatingTable":
    """Return the table of a side of the revision of `own` that speaks the one of `wire`.

    Raises `LookupError` if `package` has no translations between the two.
    """
    inward = translator(package, wire.revision, own.revision)
    outward = translator(package, own.revision, wire.revision)
    return TranslatingTable(own, wire, inward, outward, notice)


class TranslatingTable(MethodTable):
    """The method table of `own`, over a wire that carries `wire`.

    `inward` translates from the wire, `outward` to it. Losses go to `notice`.
    """

    __slots__ = ("_inward", "_notice", "_outward", "_presumed", "_readers", "_wire", "own")

    def __init__(
        self,
        own: MethodTable,
        wire: MethodTable,
        inward: Translator,
        outward: Translator,
        notice: LossReport,
    ) -> None:
        super().__init__(
            wire.revision,
            requests={
                name: _ours(spec, own.requests.get(name) or own.input_requests.get(name))
                for name, spec in wire.requests.items()
            },
            notifications={
                name: _ours(spec, own.notifications.get(name))
                for name, spec in wire.notifications.items()
            },
            errors=wire.errors,
            input_requests=wire.input_requests,
            rules=wire.rules,
        )
        self.own = own
        self._wire = wire
        self._inward = inward
        self._outward = outward
        self._notice = notice
        self._presumed: Callable[[], Mapping[str, Any]] | None = None
        self._readers: dict[str, Validate] = {}
        self._find_readers()

    def _find_readers(self) -> None:
        self._requests = {r: MethodSpecs(self.requests, r, self._params_reader) for r in _ROLES}
        self._notifications = {
            r: MethodSpecs(self.notifications, r, self._params_reader) for r in _ROLES
        }

    def presuming(self, members: Callable[[], Mapping[str, Any]]) -> "TranslatingTable":
        # There may be many such connections: they share everything else.
        table = copy(self)
        table._presumed = members
        table._find_readers()
        return table

    @property
    def wire(self) -> MethodTable:
        """The table of the revision on the wire."""
        return self._wire

    # Reading.

    def _params_reader(self, spec: RequestSpec[Any, Any] | NotificationSpec[Any]) -> Validate:
        native = self._native(spec.method)
        read = validator_of(spec.params)
        if spec is native:
            return read
        translate, presumed = self._inward.params(spec.method), self._presumed
        if translate is None and presumed is None:
            return read
        check = validator_of(native.params)

        def translated(value: Any) -> Any:
            check(value)
            out = self._run(translate, value, spec.method, "params")
            if presumed is not None and isinstance(spec, RequestSpec):
                out = {**out, "_meta": {**out.get("_meta", {}), **presumed()}}
            return read(out)

        return translated

    def _native(self, method: str) -> RequestSpec[Any, Any] | NotificationSpec[Any]:
        request = self._wire.requests.get(method)
        return self._wire.notifications[method] if request is None else request

    def _run(self, translate: Run | None, value: Any, method: str, part: str) -> Any:
        if translate is None:
            return value
        report = Report([], thorough=False)
        out = translate(value, (None, part), report)
        if report.losses:
            self._notice.take(method, report.losses)
        return out

    def result_reader(self, spec: RequestSpec[Any, Any]) -> Validate:
        native = self._wire.requests[spec.method]
        if spec is native:
            return self._wire.result_reader(native)
        read = self._readers.get(spec.method)
        if read is None:
            read = self._readers[spec.method] = self._result_reader(spec, native)
        return read

    def _result_reader(
        self, spec: RequestSpec[Any, Any], native: RequestSpec[Any, Any]
    ) -> Validate:
        check = self._wire.result_reader(native)
        read = validator_of(spec.results[0])
        translate = self._inward.result(spec.method)
        forgive = forgiver(native, self._wire.rules)
        if translate is None and forgive is None and len(native.results) == 1:
            return read
        kinds = {one: self._kind(spec, one) for one in native.results[1:]}

        def translated(value: Any) -> Any:
            checked: object = check(value)
            kind = kinds.get(type(checked))
            if kind is not None:
                run, as_ours = kind
                return as_ours(self._run(run, value, spec.method, "result"))
            if type(checked) in kinds:
                return checked  # an input request, or a task: a kind that `own` does not have
            kept = value if forgive is None else forgive(value)
            return read(self._run(translate, kept, spec.method, "result"))

        return translated

    def _kind(
        self, spec: RequestSpec[Any, Any], native: type[Any]
    ) -> tuple[Run | None, Validate] | None:
        """Return how to read a result that is not the plain one; None if there is none."""
        ours = {one.__name__: one for one in spec.results[1:]}
        with suppress(LookupError):
            kind = ours[self._inward.becomes(native.__name__)]
            return self._inward.of_type(native.__name__), validator_of(kind)
        return None

    # Writing.

    def serialise_request(
        self,
        spec: RequestSpec[P, Any],
        id: RequestId,
        params: P | None,
        *,
        meta: bytes | None = None,
    ) -> bytes:
        """Return a request as text; raise `Untranslatable` if the wire's revision cannot express
        it.
        """
        if self._wire.requests.get(spec.method) is spec:
            return self._wire.serialise_request(spec, id, params, meta=meta)
        known = self.requests[spec.method]
        return write_call(id, method_text(spec), self._params_text(known, params, meta))

    def serialise_notification(
        self, spec: NotificationSpec[P], params: P | None, *, meta: bytes | None = None
    ) -> bytes:
        """Return a notification as text; raise `Untranslatable` as `serialise_request` does."""
        if self._wire.notifications.get(spec.method) is spec:
            return self._wire.serialise_notification(spec, params, meta=meta)
        known = self.notifications[spec.method]
        return write_call(None, method_text(spec), self._params_text(known, params, meta))

    def _unknown(self, method: str) -> Untranslatable:
        return Untranslatable("", f"{self.revision} has no {method}", code=METHOD_NOT_FOUND)

    def _params_text(
        self,
        spec: RequestSpec[Any, Any] | NotificationSpec[Any],
        params: Any,
        meta: bytes | None,
    ) -> bytes | None:
        translate = self._outward.params(spec.method)
        if translate is None:
            return params_text(spec, params, meta)
        if params is None and not spec.params_required and meta is None:
            return None
        given: JSONObject = {} if params is None else params.to_wire()
        return self._text(self._run(translate, given, spec.method, "params"), spec.method, meta)

    @staticmethod
    def _text(value: JSONObject, method: str, meta: bytes | None) -> bytes:
        try:
            return spliced(value, meta)
        except PydanticSerializationError as error:
            raise LocalError(f"{method} cannot be written: {error}") from error

    def serialise_result(
        self, spec: RequestSpec[Any, R], id: RequestId, result: R, *, meta: bytes | None = None
    ) -> bytes:
        """Return a result as text; raise `Untranslatable` as `serialise_request` does."""
        native = self._wire.requests[spec.method]
        if isinstance(result, native.results):
            return self._wire.serialise_result(native, id, result, meta=meta)
        kind = spec.results[0]
        if type(result) is not kind:
            kind = next((one for one in spec.results[1:] if isinstance(result, one)), kind)
        try:
            is_plain = kind is spec.results[0]
            of = self._outward
            translate = of.result(spec.method) if is_plain else of.of_type(kind.__name__)
            if translate is None:
                return super().serialise_result(spec, id, result, meta=meta)
        except LookupError:
            translate = None
        if translate is None or not isinstance(result, kind) or not isinstance(result, WireModel):
            raise LocalError(f"{type(result).__name__} is not a result of {spec.method}")
        out = self._run(translate, result.to_wire(), spec.method, "result")
        return write_result(id, self._text(out, spec.method, meta))

    def write_question(self, spec: RequestSpec[P, Any], params: P | None) -> JSONObject:
        """Return an input request as JSON; raise `Untranslatable` as `serialise_request` does."""
        question = super().write_question(spec, params)
        if spec.method not in self._wire.input_requests:
            raise self._unknown(spec.method)
        translate = self._outward.params(spec.method)
        if "params" in question:
            given = question["params"]
            question["params"] = self._run(translate, given, spec.method, "params")
        return question

    def read_response(self, spec: RequestSpec[Any, R], value: Any) -> R:
        translate = self._inward.result(spec.method)
        return super().read_response(spec, self._run(translate, value, spec.method, "result"))

    # Other values.

    def carry_in(self, method: str, part: Part, value: JSONObject) -> JSONObject:
        """Return params or a result from the wire, translated to the revision of `own`."""
        of = self._inward.params if part == "params" else self._inward.result
        carried: JSONObject = self._run(of(method), value, method, part)
        return carried

    def carry_out(self, method: str, part: Part, value: JSONObject) -> JSONObject:
        of = self._outward.params if part == "params" else self._outward.result
        carried: JSONObject = self._run(of(method), value, method, part)
        return carried

    def outward(self, name: str, value: JSONObject) -> JSONObject:
        """Return a value of a type of `own`, translated for the wire; raise `Untranslatable`."""
        said: JSONObject = self._run(self._outward.of_type(name), value, name, name)
        return said

    def declared_by(self, role: Role, capabilities: JSONObject) -> JSONObject:
        name = "ClientCapabilities" if role == "client" else "ServerCapabilities"
        declared: JSONObject = self._run(self._inward.of_type(name), capabilities, name, name)
        return declared

    def called(self, info: JSONObject) -> JSONObject:
        translate = self._inward.of_type("Implementation")
        name: JSONObject = self._run(translate, info, "Implementation", "Implementation")
        return name

    def admit(self, method: str, sender: Role) -> None:
        spec = self._wire.requests.get(method) or self._wire.notifications.get(method)
        if spec is None or sender not in spec.senders:
            raise self._unknown(method)

    def lost(self, method: str, error: LocalError) -> None:
        self._notice.take(method, [Loss("", "refused", error.message)])

    def code_to_send(self, method: str, code: int) -> int:
        return self._outward.code(method, code)

    def code_that_came(self, method: str, code: int) -> int:
        return self._inward.code(method, code)


def _ours(native: SpecT, spec: SpecT | None) -> SpecT:
    """Return `spec` with the rules of `native`, or `native` if `own` has no types for it."""
    if spec is None or native.method in _LIFECYCLE:
        return native
    return replace(
        spec,
        senders=native.senders,
        traits=native.traits,
        phase=native.phase,
        params_required=native.params_required,
    )
