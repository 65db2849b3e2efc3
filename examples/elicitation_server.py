"""Asks the user: with a form, with a page to visit, and with a page to visit before a call.

    mcp-gen --revision all --with all --out examples/pkg    # the package that it imports
    python examples/elicitation_server.py                   # over standard input and output
    python examples/elicitation_server.py --http 8000       # at http://127.0.0.1:8000/mcp

All tables are taken on 2024-12-25. The bank and the services are invented: no user ever signs in.
"""

from argparse import ArgumentParser
from datetime import date as Date
from typing import Annotated
from uuid import uuid4

from pydantic import BaseModel, Field

from pkg import Accepted, McpError
from pkg import v2025_11_25 as mcp

Service = Annotated[str, Field(pattern="^[a-z0-9-]+$")]
FULL = Date(2024, 12, 25)
OUTCOMES = {"accept": "is confirmed in the browser", "decline": "is declined", "cancel": "is off"}

app = mcp.App("elicitation", version="1.0.0")
# Tokens by service; a real service sends one after the user has signed in on its page.
tokens: dict[str, str] = {}


class OtherDay(BaseModel):
    other_day: bool = Field(description="Would another day do?")
    day: Date = Field(Date(2024, 12, 26), description="Which one?")


@app.tool
async def book_table(date: Date, time: str, party_size: int, session: mcp.Session) -> str:
    """Book a table; ask the user for another day if all tables are taken."""
    if date == FULL:
        question = f"There is no table for {party_size} on {date}. Try another day?"
        match await session.ask(question, OtherDay):
            case Accepted(OtherDay(other_day=True, day=day)):
                date = day
            case Accepted():
                return "No table is booked."
            case _:
                return "The user has given up."
    return f"A table is booked on {date} at {time}."


@app.tool
async def secure_payment(amount: float, session: mcp.Session) -> str:
    """Pay after the user has confirmed on a page of the bank."""
    # `once` keeps the id in each round of questions.
    id = await session.once("id", lambda: str(uuid4()))
    url = f"https://payments.example.com/confirm?amount={amount:.2f}&id={id}"
    answer = await session.elicit_url(f"Confirm ${amount:.2f}.", id, url)
    return f"The payment of ${amount:.2f} {OUTCOMES[answer.action]}."


@app.tool
async def connect_service(service_name: Service, session: mcp.Session) -> str:
    """Connect to a service; the user must sign in there first."""
    if service_name in tokens:
        return f"Connected to {service_name}."
    id = await session.once("id", lambda: str(uuid4()))
    page = mcp.models.ElicitRequestURLParams(
        message=f"Sign in to {service_name}.",
        url=f"https://{service_name}.example.com/oauth/authorize?elicit={id}",
        elicitation_id=id,
    )
    code = mcp.methods.URL_ELICITATION_REQUIRED.code
    raise McpError(code, f"{service_name} needs you", {"elicitations": [page.to_wire()]})


if __name__ == "__main__":
    parser = ArgumentParser(description="ask the user")
    parser.add_argument("--http", type=int, metavar="PORT", help="serve HTTP on this port")
    port = parser.parse_args().http
    app.run("http", port=port) if port else app.run()
