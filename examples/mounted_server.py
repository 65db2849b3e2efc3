"""Serves the weather and the news: two servers, mounted under prefixes.

    mcp-gen --revision all --with all --out examples/pkg    # the package that it imports
    python examples/mounted_server.py                       # over standard input and output
    python examples/mounted_server.py --http 8000           # at http://127.0.0.1:8000/mcp

Its tools are check_app_status, weather_get_weather_forecast and news_get_news_headlines, its
resources weather://weather/forecast and news://news/headlines.
"""

from argparse import ArgumentParser
from time import monotonic

from pydantic import BaseModel

from pkg import v2025_11_25, v2026_07_28

STARTED = monotonic()
HEADLINES = ["A bridge is open again", "The market moves to the square", "Two goals in the fog"]

# Mounted servers may have different revisions.
weather = v2025_11_25.App("weather", version="1.0.0")
news = v2026_07_28.App("news", version="1.0.0")
app = v2026_07_28.App("mounted", version="1.0.0")


class Weather(BaseModel):
    celsius: float
    conditions: str
    humidity: int
    wind_speed: float


class Headlines(BaseModel):
    top_story: str
    categories: list[str]
    sources: list[str]


class Status(BaseModel):
    status: str
    version: str
    uptime: str


@weather.tool
def get_weather_forecast(location: str) -> str:
    """Forecast the weather of a place."""
    return f"It will be sunny in {location}, with a light wind."


@weather.resource("weather://forecast")
def weather_data() -> Weather:
    """The weather as numbers."""
    return Weather(celsius=21.5, conditions="sunny", humidity=45, wind_speed=2.5)


@news.tool
def get_news_headlines() -> list[str]:
    """List the headlines."""
    return HEADLINES


@news.resource("news://headlines")
def news_data() -> Headlines:
    """The news with their sources."""
    return Headlines(top_story=HEADLINES[0], categories=["town", "sports"], sources=["The Gazette"])


@app.tool
def check_app_status() -> Status:
    """Report the status of this server."""
    return Status(status="running", version="1.0.0", uptime=f"{monotonic() - STARTED:.0f} s")


app.mount("weather", weather)
app.mount("news", news)


if __name__ == "__main__":
    parser = ArgumentParser(description="tell the weather and the news")
    parser.add_argument("--http", type=int, metavar="PORT", help="serve HTTP on this port")
    port = parser.parse_args().http
    app.run("http", port=port) if port else app.run()
