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

from .functions import Depends, Function, Signature, function_name, signature_of, split_dependencies
from .injector import Injector, Step, Steps

_VARIADIC: Final = (Kind.VAR_POSITIONAL, Kind.VAR_KEYWORD)


_Run: TypeAlias = Callable[..., Awaitable[Any]]


def with_dependencies(run: _Run, filled: Mapping[str, Depends], *, threaded: bool) -> _Run:
    """Return `run` with dependencies filled in; raise `TypeError` for a cycle."""
    found: dict[Function, Step] = {}
    for dependency in filled.values():
        _visit(dependency, found, ())
    groups = [tuple(group) for _, group in groupby(_order_steps(found), lambda step: step.threaded)]
    last: Steps = groups.pop() if threaded and groups[-1][0].threaded else ()
    late = {step.function for step in last}
    names = {name: dependency.function for name, dependency in filled.items()}
    later = {name: function for name, function in names.items() if function in late}
    before = {name: function for name, function in names.items() if function not in late}

    async def fill(server: Any, session: Any, given: Mapping[str, Any], _: object = None, /) -> Any:
        injector = Injector(server.__mcp_runtime__.threads, session)
        failed: BaseException | None = None
        result: Any = None
        try:
            for group in groups:
                await injector.enter(group)
            given = {**given, **{name: injector.values[key] for name, key in before.items()}}
            around = partial(injector.around, last, later) if last else None
            result = await run(server, session, given, around)
        except BaseException as error:
            failed = error
        failed = await injector.close(failed)
        if failed is None:
            return result
        try:
            raise failed
        finally:
            del failed  # it keeps this frame alive

    return fill


def _order_steps(steps: Mapping[Function, Step]) -> list[Step]:
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


def _visit(depends: Depends, steps: dict[Function, Step], above: tuple[Function, ...]) -> None:
    function = depends.function
    if function in above:
        circle = " → ".join(map(function_name, (*above[above.index(function) :], function)))
        raise TypeError(f"Depends forms a cycle: {circle}")
    if not callable(function):
        raise TypeError(f"Depends needs a function, got {function!r}: write Depends(open_db)")
    threaded = _is_threaded(depends)
    if function in steps:
        if steps[function].threaded is not threaded:
            wrong = "must not be both inside and outside a thread: it runs once for each call"
            advice = "so give thread=… at each use"
            raise TypeError(f"Depends({function_name(function)}) {wrong}, {advice}")
        return
    described, needs = split_dependencies(_signature(function))
    for needed in needs.values():
        _visit(needed, steps, (*above, function))
    for left in described.parameters:
        if left.required:
            advice = "annotate it with Depends(…) or the session, or give it a default"
            raise TypeError(f"{described.label}: no value for the parameter {left.name}: {advice}")
    manager: Callable[..., Any] | None = None
    if isasyncgenfunction(function):
        manager = asynccontextmanager(function)
    elif isgeneratorfunction(function):
        manager = contextmanager(function) if threaded else partial(_of_generator, function)
    inner = {name: needed.function for name, needed in needs.items()}
    steps[function] = Step(function, threaded, manager, described.sessions, inner)


def _is_threaded(depends: Depends) -> bool:
    function = depends.function
    waits = iscoroutinefunction(unwrap(function)) or isasyncgenfunction(function)
    if waits and depends.thread:
        raise TypeError(f"{function_name(function)}: a coroutine function cannot run in a thread")
    return not waits if depends.thread is None else depends.thread


def _signature(function: Function) -> Signature:
    # The annotations of a class are those of its attributes.
    is_class = isinstance(function, type)
    callee: Any = function.__init__ if is_class else function
    result = replace(signature_of(callee, method=is_class), label=function_name(function))
    kinds = signature(callee).parameters
    parameters = [
        parameter for parameter in result.parameters if kinds[parameter.name].kind not in _VARIADIC
    ]
    return replace(result, parameters=tuple(parameters))
