"""Repairs of results that break the schema, for a client whose user cannot change the server.

An invalid value is repaired at the places of its errors, and validated again:
* null in a member that is optional and may not be null counts as absent;
* an invalid entry of a list is removed, the innermost one that suffices;
* the name and version of the server, which are only displayed, are replaced.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

from ..core.errors import ParseError
from ..core.json import is_array, is_object, without
from ..core.json_pointers import steps_of, value_at
from ..core.losses import Loss, LossReport
from ..core.models.base import Validate
from ..core.models.validation_errors import pointer_to, problems
from ..core.options import count_values
from ..core.spec import AnyRequest
from ..core.throttle import Throttle
from .codec import Error, Result
from .envelope import SERVER_INFO
from .jsonrpc import Malformed, Parsed, Response, message_of
from .method_table import MethodTable
from .reading import Batch, messages_in, read_values

_Steps: TypeAlias = tuple[str | int, ...]
_Faults: TypeAlias = Mapping[_Steps, str]

_NULL_IS_ABSENT: Final = "null is not allowed here and counts as absent"
_DISPLAYED: Final[tuple[_Steps, ...]] = (("serverInfo",), ("_meta", SERVER_INFO))
_NAMES: Final = ("name", "uri", "uriTemplate")
_LONGEST: Final = 80
# Limits the work that a server can cause: each round validates a value again.
_MOST_VALUES: Final = 5_000_000

Mended: TypeAlias = tuple[Any, tuple[Loss, ...]]


def lenient(table: MethodTable, report: LossReport) -> MethodTable:
    """Return a table that repairs invalid results; see `Options.lenient`."""

    def read_mended(answer: Response, spec: AnyRequest) -> Result[Any] | Error:
        wire = table.wire
        check = wire.result_reader(wire.requests.get(table.wire_name(spec.method), spec))
        result, losses = mend(answer.result, check, "/result")
        report.take(spec.method, losses)
        return table.read_answer(answer._replace(result=result), spec)

    mending = copy(table)
    mending.mender = read_mended
    return mending


def mend(value: Any, check: Validate, at: str) -> Mended:
    """Repair a decoded value for `check`; if that fails, return the closest value, without losses.

    `at` is the pointer of the value in its message.
    """
    try:
        return _Mending(check, at).solve(value, (), ())
    except _Unmendable as error:
        return error.value, ()
    except _TooMuch:
        return value, ()


def mended_messages_in(
    losses: LossReport, received: object, log: Throttle
) -> Sequence[Parsed | Batch]:
    """Do the same as `messages_in`; members of messages may be null instead of absent."""
    messages = messages_in(received, log)
    if not isinstance(received, bytes) or not {Malformed, Batch}.intersection(map(type, messages)):
        return messages
    try:
        values = read_values(received).values
    except ParseError:
        return messages
    return [
        (
            Batch([_without_null_members(member, losses) for member in value])
            if is_array(value)
            else message_of(_without_null_members(value, losses))
        )
        for value in values
    ]


def _without_null_members(value: Any, losses: LossReport) -> Any:
    if not is_object(value) or not isinstance(message_of(value), Malformed):
        return value
    bare = {name: member for name, member in value.items() if member is not None}
    if isinstance(message_of(bare), Malformed):
        return value
    method = value.get("method")
    places = [pointer_to([name]) for name in value if name not in bare]
    nulls = [Loss(place, "dropped", _NULL_IS_ABSENT, True) for place in places]
    losses.take(method if isinstance(method, str) else "response", nulls)
    return bare


class _Unmendable(Exception):
    def __init__(self, value: Any, place: _Steps, reason: str) -> None:
        self.value, self.place, self.reason = value, place, reason


class _TooMuch(Exception):
    pass


class _Mending:
    def __init__(self, check: Validate, at: str) -> None:
        self._check = check
        self._at = at
        self._left = _MOST_VALUES

    def solve(self, root: Any, place: _Steps, origin: _Steps) -> Mended:
        """Return `root` with a valid value at `place`, which was at `origin` in the message.

        Raise `_Unmendable`.
        """
        losses: tuple[Loss, ...] = ()
        while faults := self._problems(root, place):
            extra: tuple[Loss, ...] = ()
            for mend_kind in (self._drop_nulls, self._drop_entries, self._replace_displayed):
                root, extra = mend_kind(root, faults, place, origin)
                if extra:
                    break
            else:
                steps, reason = next(iter(faults.items()))
                raise _Unmendable(root, steps[len(place) :], reason)
            losses += extra
        return root, losses

    def _problems(self, root: Any, place: _Steps) -> _Faults:
        self._left -= count_values(root, self._left)
        if self._left < 0:
            raise _TooMuch
        try:
            self._check(root)
        except ValidationError as error:
            faults = {steps_of(pointer, root): text for pointer, text in problems(error, root)}
            return {where: faults[where] for where in faults if where[: len(place)] == place}
        return {}

    def _drop_nulls(self, root: Any, faults: _Faults, place: _Steps, origin: _Steps) -> Mended:
        # Nulls in lists wait for `_filter`: validation reports only the first error of a list.
        nulls = [
            where
            for where in faults
            if _is_null_member(root, where) and _list_around(where, len(place), root) is None
        ]
        if nulls:
            # Without its null, a required member is reported as missing.
            missing = self._problems(_remove(root, nulls), place)
            nulls = [where for where in nulls if where not in missing]
        origins = [(*origin, *where[len(place) :]) for where in nulls]
        losses = [self._loss(where, _NULL_IS_ABSENT, True) for where in origins]
        return _remove(root, nulls), tuple(losses)

    def _drop_entries(self, root: Any, faults: _Faults, place: _Steps, origin: _Steps) -> Mended:
        losses: list[Loss] = []
        lists = {_list_around(where, len(place), root): None for where in faults}
        for around in lists:
            if around is not None:
                change = self._shorten if around in faults else self._filter
                root = change(root, around, (*origin, *around[len(place) :]), losses)
        return root, tuple(losses)

    def _filter(self, root: Any, around: _Steps, origin: _Steps, losses: list[Loss]) -> Any:
        """Return `root` with only the entries of a list that can be repaired."""
        entries: list[Any] = []
        for number, entry in enumerate(value_at(root, around)):
            # Alone in its list, so that each entry costs the same.
            alone, inner = _replace(root, around, [entry]), (*around, 0)
            try:
                solved, extra = self.solve(alone, inner, (*origin, number))
            except _Unmendable as error:
                losses.append(self._loss((*origin, number), _reason_for_loss(entry, error)))
            else:
                entries.append(value_at(solved, inner))
                losses += extra
        return _replace(root, around, entries)

    def _shorten(self, root: Any, around: _Steps, origin: _Steps, losses: list[Loss]) -> Any:
        """Return `root` with as many entries of a list as the schema allows."""
        entries = value_at(root, around)

        def is_refused(count: int) -> bool:
            return around in self._problems(_replace(root, around, entries[:count]), around)

        count = bisect_left(range(len(entries) + 1), True, key=is_refused) - 1
        if not 0 < count < len(entries):
            return root
        reason = f"the rest is left out: the schema allows {count} entries of {len(entries)}"
        losses.append(self._loss((*origin, count), reason))
        return _replace(root, around, entries[:count])

    def _replace_displayed(self, root: Any, faults: _Faults, place: _Steps, _: _Steps) -> Mended:
        for path in () if place else _DISPLAYED:
            wrong = {where: faults[where] for where in faults if where[: len(path)] == path}
            if wrong:
                given = value_at(root, path)
                part = given if is_object(given) else {}
                names = {str(where[len(path)]) for where in wrong if len(where) > len(path)}
                info = {"name": "unknown", "version": "unknown", **without(part, *names)}
                steps, reason = next(iter(wrong.items()))
                at = _pointer_text(steps[len(path) :])
                why = f"it is only displayed, and breaks the schema at {at}: {reason}"
                loss = self._loss(path, why)._replace(what="replaced")
                return _replace(root, path, info), (loss,)
        return root, ()

    def _loss(self, steps: _Steps, reason: str, harmless: bool = False) -> Loss:
        return Loss(self._at + pointer_to(steps), "dropped", reason, harmless)


def _reason_for_loss(entry: Any, error: _Unmendable) -> str:
    members = entry if is_object(entry) else {}
    names = (members[key] for key in _NAMES if isinstance(members.get(key), str))
    name = next((f"{name[:_LONGEST]!r}" for name in names), "an entry")
    wrong = f"it breaks the schema at {_pointer_text(error.place)}: {error.reason}"
    return f"{name} is left out: {wrong}"


def _pointer_text(steps: _Steps) -> str:
    return repr(pointer_to(steps)[:_LONGEST] or "/")


def _is_null_member(root: Any, steps: _Steps) -> bool:
    return bool(steps) and isinstance(steps[-1], str) and value_at(root, steps) is None


def _list_around(steps: _Steps, start: int, root: Any) -> _Steps | None:
    """Return the outermost list on the path to a place, from step `start` on; None without one."""
    for length in range(start, len(steps) + 1):
        if is_array(value_at(root, steps[:length])):
            return steps[:length]
    return None


def _replace(root: Any, steps: _Steps, value: Any) -> Any:
    if not steps:
        return value
    copy, step = root.copy(), steps[0]
    inner = copy[step] if len(steps) > 1 else None
    copy[step] = _replace(inner, steps[1:], value)
    return copy


def _remove(root: Any, places: Iterable[_Steps]) -> Any:
    for *way, name in places:
        around = tuple(way)
        root = _replace(root, around, without(value_at(root, around), str(name)))
    return root
