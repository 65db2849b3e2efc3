"""Runs of schedules: in one process without delay, or with real processes on a real Redis.

`python -m support.sharing.playing 7` plays the schedule of seed 7 in one process and prints the
events; with `--processes` it uses processes.
"""

import asyncio
import sys
import traceback
from random import Random
from typing import Final

from support.sharing.nursery import Processes, nursery
from support.sharing.schedules import NAMES, WORKERS, Run, Site, schedule_of
from support.sharing.simulated import Simulated, SkippingLoop
from support.sharing.witness import Witness

LEASE: Final = 0.4
"""The lease of processes in seconds: so short that a seed takes about a second."""

_PATIENCE: Final = 20.0
_LONGEST: Final = 300.0


def simulate(seed: int) -> Witness:
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(_simulate(seed))


async def _simulate(seed: int) -> Witness:
    witness = Witness(1.0, _PATIENCE)
    site = Simulated(Random(seed), WORKERS, NAMES, witness)
    try:
        await _play(seed, site, witness)
    finally:
        await site.close()
    return witness


def play(seed: int, site: Processes) -> Witness:
    """Play the schedule of a seed with processes, which stay alive."""
    return asyncio.run(_play_with(seed, site))


async def _play_with(seed: int, site: Processes) -> Witness:
    witness = Witness(LEASE, _PATIENCE)
    async with site.note_events(witness):
        await site.begin()
        await _play(seed, site, witness)
    return witness


async def _play(seed: int, site: Site, witness: Witness) -> None:
    run = Run(schedule_of(seed), site, witness)
    witness.on_death = run.dies
    try:
        async with asyncio.timeout(_LONGEST):
            await run.run()
    except Exception as error:
        witness.wrong("".join(traceback.format_exception(error)))


def main(seed: str, *how: str) -> None:
    if how:
        with nursery(WORKERS, LEASE) as site:
            witness = play(int(seed), site)
    else:
        witness = simulate(int(seed))
    print(witness)
    sys.exit(bool(witness.faults))


if __name__ == "__main__":
    main(*sys.argv[1:])
