"""Dependencies: parameters that functions fill anew for each call.

In a call, each function runs once, after its own dependencies; generators continue in reverse
order. Functions on the event loop run first if possible, so that a plain tool and its plain
dependencies share one thread for the whole call.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from inspect import Parameter as Kind
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction, signature, unwrap
from itertools import groupby
from typing import Any, Final, TypeAlias

from .functions import Depends, Function, Signature, named, signature_of, split
from .scopes import Scope, Step, Steps

_VARIADIC: Final = (Kind.VAR_POSITIONAL, Kind.VAR_KEYWORD)


_Run: TypeAlias = Callable[..., Awaitable[Any]]


def with_dependencies(run: _Run, filled: Mapping[str, Depends], *, threaded: bool) -> _Run:
    """Return `run` with dependencies filled in; raise `TypeError` for a cycle."""
    found: dict[Function, Step] = {}
    for one in filled.values():
        _plan(one, found, ())
    groups = [tuple(group) for _, group in groupby(_ordered(found), lambda step: step.threaded)]
    last: Steps = groups.pop() if threaded and groups[-1][0].threaded else ()
    late = {step.function for step in last}
    names = {name: one.function for name, one in filled.items()}
    later = {name: one for name, one in names.items() if one in late}
    before = {name: one for name, one in names.items() if one not in late}

    async def filling(
        server: Any, session: Any, given: Mapping[str, Any], _: object = None, /
    ) -> Any:
        scope = Scope(server.__mcp_runtime__.threads, session)
        failed: BaseException | None = None
        result: Any = None
        try:
            for group in groups:
                await scope.enter(group)
            given = {**given, **{name: scope.values[one] for name, one in before.items()}}
            around = partial(scope.around, last, later) if last else None
            result = await run(server, session, given, around)
        except BaseException as error:
            failed = error
        failed = await scope.close(failed)
        if failed is None:
            return result
        try:
            raise failed
        finally:
            del failed  # it keeps this frame alive

    return filling


def _ordered(steps: Mapping[Function, Step]) -> list[Step]:
    """Return the steps, each after its dependencies, and those on the event loop early."""
    ordered: dict[Function, Step] = {}

    def place(step: Step) -> None:
        for function in step.needs.values():
            place(steps[function])
        ordered.setdefault(step.function, step)

    for step in sorted(steps.values(), key=lambda step: step.threaded):
        place(step)
    return list(ordered.values())


@asynccontextmanager
async def _of_generator(function: Function, /, **given: Any) -> AsyncGenerator[Any, None]:
    with contextmanager(function)(**given) as value:
        yield value


def _plan(one: Depends, steps: dict[Function, Step], above: tuple[Function, ...]) -> None:
    function = one.function
    if function in above:
        circle = " → ".join(map(named, (*above[above.index(function) :], function)))
        raise TypeError(f"Depends forms a cycle: {circle}")
    if not callable(function):
        raise TypeError(f"Depends needs a function, got {function!r}: write Depends(open_db)")
    threaded = _is_threaded(one)
    if function in steps:
        if steps[function].threaded is not threaded:
            advice = "it runs once for each call, so give thread=… at each use"
            raise TypeError(
                f"Depends({named(function)}) must not be both inside and outside a thread: "
                f"{advice}"
            )
        return
    described, needs = split(_signature(function))
    for needed in needs.values():
        _plan(needed, steps, (*above, function))
    for left in described.parameters:
        if left.required:
            advice = "annotate it with Depends(…) or the session, or give it a default"
            raise TypeError(f"{described.where}: no value for the parameter {left.name}: {advice}")
    manager: Callable[..., Any] | None = None
    if isasyncgenfunction(function):
        manager = asynccontextmanager(function)
    elif isgeneratorfunction(function):
        manager = contextmanager(function) if threaded else partial(_of_generator, function)
    inner = {name: needed.function for name, needed in needs.items()}
    steps[function] = Step(function, threaded, manager, described.sessions, inner)


def _is_threaded(one: Depends) -> bool:
    function = one.function
    waits = iscoroutinefunction(unwrap(function)) or isasyncgenfunction(function)
    if waits and one.thread:
        raise TypeError(f"{named(function)}: a coroutine function cannot run in a thread")
    return not waits if one.thread is None else one.thread


def _signature(function: Function) -> Signature:
    # The annotations of a class are those of its attributes.
    is_class = isinstance(function, type)
    target: Any = function.__init__ if is_class else function
    found = replace(signature_of(target, method=is_class), where=named(function))
    kinds = signature(target).parameters
    parameters = [one for one in found.parameters if kinds[one.name].kind not in _VARIADIC]
    return replace(found, parameters=tuple(parameters))
