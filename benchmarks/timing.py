"""Timing of alternating actions, so that disturbances of the machine are shared.

It needs only the standard library, because it also runs in the environment of the SDKs.
"""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from time import perf_counter
from typing import Any, TypeAlias

Action: TypeAlias = Callable[[], Any]
Samples: TypeAlias = dict[str, list[float]]
Clock: TypeAlias = Callable[[], float]

# Long enough to hide the cost of the clock, short enough to alternate often.
_SAMPLE = 0.004


def interleave(actions: Mapping[str, Action], rounds: int, clock: Clock = perf_counter) -> Samples:
    """Return the seconds by `clock` of each action in every round, after one that does not count.

    Every round starts with another action, so that none always follows the same neighbour.
    """
    samples: Samples = {name: [] for name in actions}
    names = list(actions)
    for name in names:
        actions[name]()
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            started = clock()
            actions[name]()
            samples[name].append(clock() - started)
    return samples


def spent_by_children() -> float:
    """Return the processor time of all child processes that have ended, as a clock."""
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def interleave_loads(loads: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Return the median seconds of a call, as each load reports them."""
    taken: dict[str, list[float]] = {name: [] for name in loads}
    names = list(loads)
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            taken[name].append(loads[name]())
    return {name: median(figures) for name, figures in taken.items()}


def interleave_calls(
    calls: Mapping[str, Action], rounds: int, clock: Clock = perf_counter
) -> dict[str, float]:
    """Return the median seconds of one call of each, for very short calls."""
    numbers = {name: _calls_per_sample(call) for name, call in calls.items()}
    loops = {name: _loop(call, numbers[name]) for name, call in calls.items()}
    samples = interleave(loops, rounds, clock)
    return {name: median(taken) / numbers[name] for name, taken in samples.items()}


def _calls_per_sample(call: Action) -> int:
    number = 1
    while True:
        started = perf_counter()
        _loop(call, number)()
        taken = perf_counter() - started
        if taken >= _SAMPLE / 4:
            return max(1, round(number * _SAMPLE / taken))
        number *= 4


def _loop(call: Action, number: int) -> Action:
    def loop() -> None:
        for _ in range(number):
            call()

    return loop


def command(
    arguments: Sequence[str | Path], folder: Path, environment: Mapping[str, str]
) -> Callable[[], str]:
    """Return an action that runs a command in `folder` and returns its output.

    The action raises `RuntimeError` with that output if the command fails.
    """

    def run() -> str:
        done = subprocess.run(
            arguments, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            line, said = " ".join(map(str, arguments)), done.stderr or done.stdout
            raise RuntimeError(f"{line} ended with {done.returncode}:\n{said.strip()}")
        return done.stdout

    return run
