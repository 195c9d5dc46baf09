"""Questions for permission: first the policy decides, then the user, and nobody else.

Only what was offered and chosen is allowed. A rule says "once" and never "always"; where no option
says only that, the user is asked. What the user does not decide, a failure included, is never an
approval.

Spec: https://agentclientprotocol.com/protocol/v2/tool-calls#requesting-permission
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from parley.peer import RequestContext
from parley.policy import Policy, Subject, Verdict, subject_of
from parley.schema import v2
from parley.secrets import MASK

from .calling import called
from .grants import Grants
from .questions import SCOPES, question_about

if TYPE_CHECKING:
    from .connection import Connection
    from .session import Session
    from .workspace import Preview

__all__ = ["Decide", "Decided", "OnDecision", "PermissionDesk", "subject_in"]

logger = logging.getLogger(__name__)

Choice: TypeAlias = str | v2.PermissionOption | None
Decide: TypeAlias = Callable[[v2.RequestPermissionRequest, "Session"], Choice | Awaitable[Choice]]
"""Gets the question and its session, whose transcript has the tool call; returns an option of the
question, or the id of one, or None for no decision."""

_METHODS = {
    "read": "fs/read_text_file",
    "edit": "fs/write_text_file",
    "execute": "terminal/create",
}
_READING = {"read", "search"}
_VALUE = r"(?:'[^']*'|\"'\"|[^\s'\"])*"
_GIVEN = re.compile(rf"\A(?:[A-Za-z_]\w*={_VALUE} )+", re.ASCII)
"""The variables before a command, quoted as `line.py` does it."""


class Decided(Struct, frozen=True, kw_only=True):
    """How a question for permission ended."""

    request: v2.RequestPermissionRequest
    """The question, the agent's or one of ours."""
    subject: Subject
    """What it was about."""
    option: v2.PermissionOption | None
    """What was chosen; None: nothing."""
    by: Literal["policy", "user", "nobody"]
    """Who decided; `nobody`: there was nobody to ask."""
    verdict: Verdict
    """What the policy said; where that was to ask, the reason tells why it was asked."""

    @property
    def is_allowed(self) -> bool:
        """Whether it may be done."""
        return self.option is not None and self.option.kind in ("allow_once", "allow_always")


OnDecision: TypeAlias = Callable[[Decided, "Session"], object]


def subject_in(session: Session, request: v2.RequestPermissionRequest) -> Subject:
    """Return what a question in a session is about, with all that was said of its tool call."""
    connection = session.connection
    return subject_of(
        request,
        session.tool_call_of(request),
        session.cwd or str(connection.cwd),
        agent=connection.name,
        session=session.id,
    )


class PermissionDesk:
    """Answers questions for permission."""

    def __init__(
        self,
        connection: Connection,
        decide: Decide | None,
        *,
        policy: Policy | None = None,
        on_decision: OnDecision | None = None,
    ) -> None:
        """Answer by a policy and by a function.

        Args:
            connection: Where the questions come from.
            decide: Asks the user; None: nobody can be asked.
            policy: Decides first; None: everything is asked.
            on_decision: Is told how each question ended.
        """
        self._connection = connection
        self._decide = decide
        self._policy = policy
        self._on_decision = on_decision
        self._grants = Grants()

    async def answer(
        self, request: v2.RequestPermissionRequest, context: RequestContext
    ) -> v2.RequestPermissionResponse:
        """Answer a question; whatever goes wrong, nothing is allowed by it."""
        del context
        session = self._connection.session_of(request.session_id)
        if session is None:
            return v2.RequestPermissionResponse(outcome=v2.CancelledPermissionOutcome())
        if isinstance(request.subject, v2.ToolCallPermissionSubject):
            session.transcript.fold(request.subject.tool_call)
        with session.holding(request):
            subject = subject_in(session, request)
            decided = await self._decided(request, session, subject)
        if decided.option is None:
            return v2.RequestPermissionResponse(outcome=v2.CancelledPermissionOutcome())
        if decided.is_allowed:
            is_lasting = decided.option.kind == "allow_always"
            self._grants.add(subject, session, is_lasting=is_lasting)
        chosen = v2.SelectedPermissionOutcome(option_id=decided.option.option_id)
        return v2.RequestPermissionResponse(outcome=chosen)

    async def may(self, subject: Subject, session: Session, preview: Preview | None = None) -> bool:
        """Tell whether the client may do something for an agent: the guard of a workspace.

        What is read is allowed unless it is denied. What is written or run is allowed by the
        policy, or because exactly this was granted for a tool call of the running turn, else it is
        asked.
        """
        tool = subject.tool or _METHODS.get(subject.kind, "")
        subject = replace(subject, tool=tool, agent=self._connection.name, session=session.id)
        if self._policy is not None:
            decision = self._policy.decide(subject).decision
            if decision != "deny" and _READING.issuperset(subject.kinds):
                return True
            is_granted = not session.turns.is_cancelling and self._grants.cover(subject, session)
            if decision != "deny" and is_granted:
                reason = "granted for a tool call of this turn"
                self._note(subject, session, "allow", reason=reason, option=None, by="policy")
                return True
        shown = None if preview is None or self._decide is None else await preview()
        request = question_about(subject, session, shown)
        with session.holding(request):
            decided = await self._decided(request, session, subject)
        if decided.is_allowed and decided.option is not None:
            self._remember(subject, decided.option)
        return decided.is_allowed

    async def _decided(
        self, request: v2.RequestPermissionRequest, session: Session, subject: Subject
    ) -> Decided:
        """Decide, tell who wants to know, and write it down."""
        verdict = Verdict("ask", "there is no policy")
        if self._policy is not None:
            verdict = self._policy.decide(subject)
        by: Literal["policy", "user", "nobody"] = "policy"
        option = None if session.turns.is_cancelling else _by_rule(request.options, verdict)
        if option is None and verdict.decision != "deny":
            option = await session.unless_cancelled(self._ask(request, session))
            by = "nobody" if self._decide is None else "user"
        if option is None and self._decide is None and self._policy is not None:
            refusal = Verdict("deny", "there is nobody to ask")
            option = None if session.turns.is_cancelling else _by_rule(request.options, refusal)
        decided = Decided(request=request, subject=subject, option=option, by=by, verdict=verdict)
        self._tell(decided, session)
        return decided

    async def _ask(
        self, request: v2.RequestPermissionRequest, session: Session
    ) -> v2.PermissionOption | None:
        """Return the option that the user chose; None if none was."""
        if self._decide is None:
            return None
        try:
            choice = await called(self._decide, request, session)
        except Exception:  # of the program: then nothing is allowed
            logger.exception("%s: deciding a permission failed", self._connection.name)
            return None
        chosen = choice.option_id if isinstance(choice, v2.PermissionOption) else choice
        if chosen is None:
            return None
        meant = [each for each in request.options if each.option_id == chosen]
        if len(meant) != 1:
            problem = "offered twice" if meant else "not offered"
            known = ", ".join(repr(each.option_id) for each in request.options)
            name = self._connection.name
            logger.error(
                "%s: %r was %s as a permission; there were %s", name, chosen, problem, known
            )
            return None
        return meant[0]

    def _tell(self, decided: Decided, session: Session) -> None:
        outcome = "allow" if decided.is_allowed else "cancelled" if not decided.option else "deny"
        option = None if decided.option is None else decided.option.option_id
        reason = decided.verdict.reason
        self._note(decided.subject, session, outcome, reason=reason, option=option, by=decided.by)
        if self._on_decision is None:
            return
        try:
            self._on_decision(decided, session)
        except Exception:  # of the program: it was decided all the same
            logger.exception("%s: on_decision failed", self._connection.name)

    def _note(self, subject: Subject, session: Session, decision: str, **more: str | None) -> None:
        recorder = self._connection.recorder
        if recorder is not None:
            told = {name: getattr(subject, name) for name in ("kind", "tool")}
            commands = [_GIVEN.sub(_without_values, each) for each in subject.commands]
            # a name of a file need not be text
            paths = [each.encode(errors="replace").decode() for each in subject.paths]
            told |= {"commands": commands, "paths": paths, "decision": decision}
            recorder.note(session.id, "permission", **told, **more)

    def _remember(self, subject: Subject, option: v2.PermissionOption) -> None:
        """Keep what the user answered to a question of ours."""
        scope = SCOPES.get(option.option_id)
        if scope is None or self._policy is None:
            return
        try:
            self._policy.remember(subject, "allow", scope)
        except OSError as error:
            logger.warning("%s: an answer is not remembered: %s", self._connection.name, error)


def _without_values(given: re.Match[str]) -> str:
    """Hide what may be a secret: the journal keeps no values of variables either."""
    return re.sub(rf"={_VALUE} ", f"={MASK} ", given[0])


def _by_rule(
    options: Sequence[v2.PermissionOption], verdict: Verdict
) -> v2.PermissionOption | None:
    """Return the option that says what a rule says and no more; None: there is none."""
    kinds = {"allow": "allow_once", "deny": "reject_once"}
    kind = kinds.get(verdict.decision)
    meant = next((each for each in options if each.kind == kind), None)
    ids = [each.option_id for each in options]
    return None if meant is None or ids.count(meant.option_id) != 1 else meant
