"""Tells the time in any time zone, and converts times between zones.

    mcp-gen --revision all --with all --out examples/pkg    # the package that it imports
    python examples/time_server.py                          # over standard input and output
    python examples/time_server.py --http 8000              # at http://127.0.0.1:8000/mcp

If the user names no zone, the model uses that of TZ or of this machine.
"""

import os
from argparse import ArgumentParser
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BaseModel, Field

from pkg import v2026_07_28 as mcp
from pkg.v2026_07_28 import models as m


def local_zone() -> str:
    """Return the name of the local time zone, or UTC if it is unknown."""
    linked = Path("/etc/localtime").resolve().as_posix().rpartition("zoneinfo/")[2]
    known = available_timezones()
    return next((name for name in (os.environ.get("TZ"), linked) if name in known), "UTC")


NAMES = f"IANA name of a time zone, such as Asia/Tokyo. If the user names none: {local_zone()}."
Zone = Annotated[ZoneInfo, Field(description=NAMES)]
Clock = Annotated[str, Field(pattern=r"^([01]?\d|2[0-3]):[0-5]\d$", description="HH:MM, 24 hours.")]
READS = m.ToolAnnotations(read_only_hint=True, open_world_hint=False)

app = mcp.App("time", version="1.0.0")


class Moment(BaseModel):
    timezone: str
    datetime: str
    day_of_week: str
    is_dst: bool


class Conversion(BaseModel):
    source: Moment
    target: Moment
    time_difference: str


def moment(when: datetime) -> Moment:
    return Moment(
        timezone=str(when.tzinfo),
        datetime=when.isoformat(timespec="seconds"),
        day_of_week=f"{when:%A}",
        is_dst=bool(when.dst()),
    )


@app.tool(annotations=READS)
def get_current_time(timezone: Zone) -> Moment:
    """Return the current time in a time zone."""
    return moment(datetime.now(timezone))


@app.tool(annotations=READS)
def convert_time(source_timezone: Zone, time: Clock, target_timezone: Zone) -> Conversion:
    """Convert a time of today to another time zone."""
    hour, minute = map(int, time.split(":"))
    today = datetime.now(source_timezone)
    source = today.replace(hour=hour, minute=minute, second=0, microsecond=0)
    target = source.astimezone(target_timezone)
    ahead = target.replace(tzinfo=None) - source.replace(tzinfo=None)
    hours = ahead / timedelta(hours=1)
    return Conversion(source=moment(source), target=moment(target), time_difference=f"{hours:+}h")


if __name__ == "__main__":
    parser = ArgumentParser(description="tell models the time in any time zone")
    parser.add_argument("--http", type=int, metavar="PORT", help="serve HTTP on this port")
    port = parser.parse_args().http
    app.run("http", port=port) if port else app.run()
