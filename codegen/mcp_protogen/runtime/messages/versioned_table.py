"""The method table of a revision with several versions of an extension.

The declaration in a request says which version its method is of; what a server sends is of the
version that the client has agreed on.
"""

from collections.abc import Mapping
from copy import copy
from typing import Any, NamedTuple, TypeVar

from ..core.errors import MethodNotFound, RemoteError
from ..core.extension_versions import VersionedExtension, VersionError
from ..core.extensions import Extension
from ..core.json import JSONObject, is_object, json_text
from ..core.spec import CallSpec, Role
from .codec import TypedCall
from .envelope import client_capabilities
from .extended_table import ExtendedTable
from .jsonrpc import Call
from .method_table import EXTENSIONS, MethodTable

ValueT = TypeVar("ValueT")

Agreed = Mapping[str, VersionedExtension | None]
"""The version of each extension, by family; None if the sides have none in common."""


class UnsupportedExtensionVersion(RemoteError):
    """The client asks for a version of an extension that the server does not have."""

    def __init__(self, call: Call, error: VersionError, data: JSONObject) -> None:
        message = f"Unsupported version of the extension of {call.method}"
        super().__init__(message, id=call.id, data=data)
        vars(self)["code"] = error.code


class VersionedTable(ExtendedTable):
    """A method table with `extensions`, some in several versions."""

    def __init__(self, core: MethodTable, extensions: tuple[Extension, ...]) -> None:
        super().__init__(core, extensions)
        self.families: dict[str, list[VersionedExtension]] = {}
        """The versions of each extension, the newest first."""
        self.agreed: Agreed = {}
        """The versions that a client has agreed on, by family."""
        self._by_wire_name: dict[str, list[VersionedExtension]] = {}
        self._wire_names: dict[str, str] = {}
        versions = [version for version in extensions if isinstance(version, VersionedExtension)]
        for version in sorted(versions, key=order, reverse=True):
            self.families.setdefault(version.family, []).append(version)
            for method in (*version.requests, *version.notifications):
                name = method.removesuffix(version.suffix)
                self._by_wire_name.setdefault(name, []).append(version)
                self._wire_names[method] = name
        self.candidates: Mapping[str, list[VersionedExtension]] = self.families
        """The versions that a client can use, those that it prefers first."""
        self.requests = self._with_wire_names(self.requests)
        self.notifications = self._with_wire_names(self.notifications)

    def _with_wire_names(self, specs: Mapping[str, ValueT]) -> Mapping[str, ValueT]:
        """Return specs that are also known by the names on the wire."""
        own_names = {name: self.own_name(name) for name in self._by_wire_name}
        return {**{name: specs[own] for name, own in own_names.items() if own in specs}, **specs}

    def own_name(self, method: str) -> str:
        """Return a method's name here: without a first version, that of the newest one."""
        versions = self._by_wire_name.get(method)
        if method in self._wire_names or versions is None:
            return method
        return method + versions[0].suffix

    def interpret(self, call: Call, sender: Role) -> TypedCall | RemoteError:
        """Return a call in the version that its sender means, or its error. Never raises."""
        having = self._by_wire_name.get(call.method)
        if having is None:
            if call.method in self._wire_names:  # only those with a suffix are not on the wire
                return MethodNotFound(call.method, id=call.id)
            return super().interpret(call, sender)
        chosen: VersionedExtension | _Unknown | None = self.agreed.get(having[0].family, having[0])
        if sender == "client":
            declared = client_capabilities(call.meta).get(EXTENSIONS)
            chosen = _choose(self.families[having[0].family], having, declared)
        if isinstance(chosen, _Unknown):
            return chosen.error(call)
        if chosen is None or chosen not in having:
            return MethodNotFound(call.method, id=call.id)
        return super().interpret(call._replace(method=call.method + chosen.suffix), sender)

    def _name_text(self, specs: Mapping[str, Any], spec: CallSpec[Any]) -> bytes:
        name = super()._name_text(specs, spec)
        if (wire := self._wire_names.get(spec.method)) is not None:
            name = self._names[spec] = json_text(wire)
        return name

    def agreed_form(self, spec: Any) -> Any:
        """Return a message of a client in the version that it has agreed on."""
        return spec

    def with_agreed(self, agreed: Agreed) -> "VersionedTable":
        """Return the table of a client that has agreed on versions."""
        table = copy(self)
        table.agreed = agreed
        return table


def order(version: VersionedExtension) -> tuple[int, int, str]:
    return version.rule.order(version.version)


class _Unknown(NamedTuple):
    """A version of an extension that a client declares, and the server lacks."""

    own: list[VersionedExtension]
    settings: Any

    def error(self, call: Call) -> RemoteError:
        rule = self.own[0].rule
        if rule.error is None:
            return MethodNotFound(call.method, id=call.id)
        requested, *_ = (*rule.versions_in(self.settings, "client"), "")
        supported = [version.version for version in sorted(self.own, key=order)]
        data = {rule.error.requested: requested, rule.error.supported: supported}
        outer = {rule.error.by_identifier: {self.own[0].identifier: data}}
        return UnsupportedExtensionVersion(call, rule.error, outer)


def _choose(
    family: list[VersionedExtension], having: list[VersionedExtension], declared: Any
) -> VersionedExtension | _Unknown:
    """Return the version that a client declares among its extensions.

    A client that declares none means the first version, or the newest that has the method.
    """
    extensions = declared if is_object(declared) else {}
    for version in family:
        if version.is_declared(extensions):
            return version
    for version in family:
        if version.identifier in extensions:
            own = [candidate for candidate in family if candidate.identifier == version.identifier]
            return _Unknown(own, extensions[version.identifier])
    first = (version for version in having if version.fits("client", {}))
    return next(first, having[0])
