"""`budget`: a session that has cost too much is stopped.

The cost of a session is as its agent reports it: the cost in its usage updates, and the tokens that
it reports for each turn, or those in its context if these are more. An agent that reports neither
is not stopped. When a limit is reached, the running turn is cancelled, the user is notified, and
further prompts are refused with `BudgetSpent`.
"""

from __future__ import annotations

import logging
from argparse import ArgumentParser, Namespace
from typing import Any
from uuid import uuid4

from msgspec import UNSET, Struct

from parley._argtypes import positive_float, positive_int
from parley._bounded_dict import BoundedDict
from parley.errors import BudgetSpent
from parley.proxy._handling.connection import ProxyConnection
from parley.proxy._handling.message import Notification, Request, Response
from parley.proxy._proxy import Proxy
from parley.schema import v2

logger = logging.getLogger(__name__)

MAX_SESSIONS = 10_000
"""How many sessions of a connection are remembered."""


class _Spent(Struct):
    """The usage of a session."""

    cost: float = 0.0
    currency: str = ""
    tokens: int = 0
    """Those of the turns that have ended."""
    context: int = 0
    """Those that were in the context at most."""
    is_stopped: bool = False

    @property
    def most_tokens(self) -> int:
        return max(self.tokens, self.context)


class _Budget:
    """The limits, and what the sessions of a connection have spent."""

    def __init__(self, cost: float | None, tokens: int | None, is_shared: bool) -> None:
        self._cost = cost
        self._tokens = tokens
        self._is_shared = is_shared

    def spent(self, connection: ProxyConnection, session_id: str) -> _Spent:
        """Return what a session has spent."""
        sessions: BoundedDict[str, _Spent] = connection.state.setdefault(
            "spent", BoundedDict(MAX_SESSIONS)
        )
        return sessions.setdefault(session_id, _Spent())

    def exceeded(self, connection: ProxyConnection, session_id: str) -> str:
        """Describe the limit that is reached; return an empty text if none is."""
        self.spent(connection, session_id)
        sessions: BoundedDict[str, _Spent] = connection.state["spent"]
        counted = list(sessions.values()) if self._is_shared else [sessions[session_id]]
        cost = sum(each.cost for each in counted)
        tokens = sum(each.most_tokens for each in counted)
        if self._cost is not None and cost >= self._cost:
            currency = next((each.currency for each in counted if each.currency), "")
            return f"{cost:.2f} of {self._cost:.2f} {currency}".strip()
        if self._tokens is not None and tokens >= self._tokens:
            return f"{tokens} of {self._tokens} tokens"
        return ""


def budget(
    *, cost: float | None = None, tokens: int | None = None, is_shared: bool = False
) -> Proxy:
    """Return a proxy that stops sessions at a limit.

    Args:
        cost: How much a session may cost, in the currency that the agent counts in.
        tokens: How many tokens it may take.
        is_shared: Whether all sessions of a connection share the budget.

    Raises:
        ValueError: No limit was passed, or one that is not positive.
    """
    if cost is None and tokens is None:
        raise ValueError("a budget needs a limit: a cost, or tokens")
    if (cost is not None and cost <= 0) or (tokens is not None and tokens <= 0):
        raise ValueError("a budget is above zero")
    proxy = Proxy("budget")
    limit = _Budget(cost, tokens, is_shared)

    @proxy.from_client("session/prompt")
    async def prompt(request: Request) -> Response:
        reached = limit.exceeded(request.connection, request.session_id)
        if reached:
            raise BudgetSpent(f"The budget of this session is spent: {reached}")
        reply = await request.forward()
        _add(
            limit.spent(request.connection, request.session_id),
            getattr(reply.result, "usage", None),
        )
        return reply

    @proxy.from_agent("session/update")
    def update(note: Notification) -> Any:
        if note.kind not in ("usage_update", "state_update"):
            return None
        spent = limit.spent(note.connection, note.session_id)
        for each in note.updates:
            _count(spent, each)
        reached = limit.exceeded(note.connection, note.session_id)
        if not reached or spent.is_stopped or note.kind == "state_update":
            return None
        spent.is_stopped = True
        return _stop(note.connection, note.session_id, reached)

    return proxy


def _count(spent: _Spent, update: v2.SessionUpdate) -> None:
    if isinstance(update, v2.UsageUpdate):
        spent.context = max(spent.context, update.used)
        if update.cost is not None and update.cost is not UNSET:
            spent.cost, spent.currency = update.cost.amount, update.cost.currency
    elif isinstance(update, v2.StateUpdated):
        _add(spent, update.usage)


def _add(spent: _Spent, usage: Any) -> None:
    if usage is not None:
        spent.tokens += usage.total_tokens


async def _stop(connection: ProxyConnection, session_id: str, reached: str) -> None:
    """Cancel the running turn, and notify the user."""
    logger.info("the budget of session %s is spent: %s", session_id, reached)
    await connection.agent.notify(
        "session/cancel", v2.CancelSessionNotification(session_id=session_id)
    )
    title = f"The budget of this session is spent: {reached}"
    notice = v2.Notice(severity="warning", title=title)
    if connection.dialect.downgrade_update(session_id, notice):
        await connection.update(session_id, notice)
    else:  # a client of version 1 that takes no notices
        message = v2.AgentMessageChunk(message_id=uuid4().hex, content=v2.TextContent(text=title))
        await connection.update(session_id, message)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument(
        "--cost", type=positive_float, metavar="AMOUNT", help="how much it may cost"
    )
    parser.add_argument(
        "--tokens", type=positive_int, metavar="N", help="how many tokens it may take"
    )
    parser.add_argument(
        "--shared", action="store_true", help="one budget for all sessions of a connection"
    )


def from_options(options: Namespace) -> Proxy:
    """Return the component that parsed options describe."""
    return budget(cost=options.cost, tokens=options.tokens, is_shared=options.shared)
