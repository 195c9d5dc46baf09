"""Permission requests: the policy decides first, then the user, and nobody else.

Only an option that was offered and chosen allows anything. A rule chooses "once" and never
"always"; if no option means only that, the user is asked. If the user does not decide, or the
program fails, nothing is approved.

Spec: https://agentclientprotocol.com/protocol/v2/tool-calls#requesting-permission
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from parley._redaction import MASK
from parley._user_code import reraise_if_ending
from parley.peer import RequestContext
from parley.policy import Policy, Subject, Verdict, subject_of
from parley.policy._off_loop import run_off_loop
from parley.policy._request import is_small
from parley.schema import v2

from ._calling import call_maybe_async
from ._own_permission_request import SCOPES, TURN_OPTION, build_permission_request
from .workspace._grants import Grants

if TYPE_CHECKING:
    from ._connection_state import ConnectionState
    from ._session import Session
    from .workspace._workspace import Preview


logger = logging.getLogger(__name__)

Choice: TypeAlias = str | v2.PermissionOption | None
Decide: TypeAlias = Callable[[v2.RequestPermissionRequest, "Session"], Choice | Awaitable[Choice]]
"""The type of `permission=`: a function, plain or `async`, that decides a permission request.

It gets the request and its session, whose transcript has the tool call. It returns one of the
request's options, or the id of one, or None for no decision."""

_METHODS = {
    "read": "fs/read_text_file",
    "edit": "fs/write_text_file",
    "execute": "terminal/create",
}
_READING = {"read", "search"}
_VALUE = r"(?:'[^']*'|\"'\"|[^\s'\"])*"
_ASSIGNMENTS = re.compile(rf"\A(?:[A-Za-z_]\w*={_VALUE} )+", re.ASCII)
"""The variables before a command, quoted as in `workspace/_command_line.py`."""


class PermissionDecision(Struct, frozen=True, kw_only=True):
    """The outcome of a permission request, as passed to `on_decision`.

    `is_allowed` is the result, `by` says who decided, and `subject` what it was about.
    """

    request: v2.RequestPermissionRequest
    """The request, from the agent or made by the client itself."""
    subject: Subject
    """The action that it is about."""
    option: v2.PermissionOption | None
    """The chosen option; None if none was chosen."""
    by: Literal["policy", "user", "nobody"]
    """The deciding party; `nobody` if the user was needed and could not be asked."""
    verdict: Verdict
    """The verdict of the policy; if it is `ask`, its reason says why the user is asked."""

    @property
    def is_allowed(self) -> bool:
        """Whether the action is allowed."""
        return self.option is not None and self.option.kind in ("allow_once", "allow_always")


OnDecision: TypeAlias = Callable[[PermissionDecision, "Session"], object]


def subject_in(session: Session, request: v2.RequestPermissionRequest) -> Subject:
    """Return the action that a permission request is about, with all details of its tool call.

    Use it in a `permission` function to show the user the paths and commands involved:

        def decide(request, session):
            print(subject_in(session, request).commands)

    Args:
        session: The session that the request belongs to.
        request: The permission request.
    """
    cwd = session.cwd or str(session.connection.cwd)
    return with_origin(subject_of(request, session.tool_call_of(request), cwd), session)


def with_origin(subject: Subject, session: Session) -> Subject:
    """Return a copy of the subject that names the agent and session that it comes from."""
    return replace(
        subject,
        agent=session.connection.name,
        agent_id=session.connection.identity,
        session=session.id,
        opening=session.opening,
    )


class PermissionHandler:
    """Handles permission requests with a policy and a function of the program."""

    def __init__(
        self,
        connection: ConnectionState,
        decide: Decide | None,
        *,
        policy: Policy | None = None,
        on_decision: OnDecision | None = None,
    ) -> None:
        """Create a handler.

        Args:
            connection: The connection that the requests come from.
            decide: Asks the user; None if nobody can be asked.
            policy: Decides first; None if the user decides everything.
            on_decision: Called with the outcome of each request.
        """
        self._connection = connection
        self._decide = decide
        self._policy = policy
        self._on_decision = on_decision
        self._grants = Grants(connection)

    async def handle_request(
        self, request: v2.RequestPermissionRequest, context: RequestContext
    ) -> v2.RequestPermissionResponse:
        """Handle `session/request_permission`; a failure never allows anything."""
        del context
        state = self._connection.find_session(request.session_id)
        if state is None:
            return v2.RequestPermissionResponse(outcome=v2.CancelledPermissionOutcome())
        session = state.session
        if isinstance(request.subject, v2.ToolCallPermissionSubject):
            session.transcript.fold(request.subject.tool_call)
        with self._connection.questions.freeze_tool_call(request, session):
            size = is_small(session.tool_call_of(request))
            subject = await run_off_loop(size, subject_in, session, request)
            decision = await self._make_decision(request, session, subject)
        if decision.option is None:
            return v2.RequestPermissionResponse(outcome=v2.CancelledPermissionOutcome())
        if decision.is_allowed:
            is_lasting = decision.option.kind == "allow_always"
            by_user, title = decision.by == "user", request.title or "a request without a title"
            self._grants.add(subject, session, is_lasting=is_lasting, title=title, by_user=by_user)
        chosen = v2.SelectedPermissionOutcome(option_id=decision.option.option_id)
        return v2.RequestPermissionResponse(outcome=chosen)

    async def is_permitted(
        self, subject: Subject, session: Session, preview: Preview | None = None
    ) -> bool:
        """Return whether the client may do something for an agent: the guard of a workspace.

        Reading is allowed unless the policy denies it or requires the user. Writing a file or
        running a command is allowed by the policy, or if exactly this was granted for a tool call
        of the current turn; otherwise the user is asked.
        """
        tool = subject.tool or _METHODS.get(subject.kind, "")
        subject = with_origin(replace(subject, tool=tool), session)
        if self._policy is not None:
            verdict = await run_off_loop(subject.is_small, self._policy.decide, subject)
            is_read = _READING.issuperset(subject.kinds) and not verdict.needs_user
            if verdict.decision != "deny" and is_read:
                return True
            is_granted = not self._connection.is_cancelling(session) and self._grants.cover(
                subject, session
            )
            if verdict.decision != "deny" and is_granted:
                reason = "granted for a tool call of this turn"
                self._note(subject, session, "allow", reason=reason, option=None, by="policy")
                return True
        shown = None if preview is None or self._decide is None else await preview()
        granted = self._grants.last_request(session, runs=bool(subject.commands))
        request = build_permission_request(subject, session, shown, granted=granted)
        with self._connection.questions.freeze_tool_call(request, session):
            decision = await self._make_decision(request, session, subject)
        if decision.is_allowed and decision.option is not None:
            self._remember(subject, decision.option, session)
        return decision.is_allowed

    async def _make_decision(
        self, request: v2.RequestPermissionRequest, session: Session, subject: Subject
    ) -> PermissionDecision:
        """Decide a request, then record the outcome and call `on_decision`."""
        verdict = Verdict("ask", "there is no policy")
        if self._policy is not None:
            verdict = await run_off_loop(subject.is_small, self._policy.decide, subject)
        by: Literal["policy", "user", "nobody"] = "policy"
        option = (
            None
            if self._connection.is_cancelling(session)
            else _option_for(request.options, verdict)
        )
        if option is None and verdict.decision != "deny":
            option = await self._connection.questions.ask(session, self._ask(request, session))
            by = "nobody" if self._decide is None else "user"
        if option is None and self._decide is None and self._policy is not None:
            refusal = Verdict("deny", "there is nobody to ask")
            option = (
                None
                if self._connection.is_cancelling(session)
                else _option_for(request.options, refusal)
            )
        decision = PermissionDecision(
            request=request, subject=subject, option=option, by=by, verdict=verdict
        )
        self._report(decision, session)
        return decision

    async def _ask(
        self, request: v2.RequestPermissionRequest, session: Session
    ) -> v2.PermissionOption | None:
        """Return the option that the user chose; None if there is no valid choice."""
        if self._decide is None:
            return None
        try:
            choice = await call_maybe_async(self._decide, request, session)
        except BaseException as error:  # the program's: then nothing is allowed
            reraise_if_ending(error)
            logger.exception("%s: the permission function failed", self._connection.name)
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
                "%s: the permission option %r was %s; the options were %s",
                name,
                chosen,
                problem,
                known,
            )
            return None
        return meant[0]

    def _report(self, decision: PermissionDecision, session: Session) -> None:
        outcome = "allow" if decision.is_allowed else "cancelled" if not decision.option else "deny"
        option = None if decision.option is None else decision.option.option_id
        reason = decision.verdict.reason
        self._note(decision.subject, session, outcome, reason=reason, option=option, by=decision.by)
        if self._on_decision is None:
            return
        try:
            self._on_decision(decision, session)
        except BaseException as error:  # the program's: the decision stands
            reraise_if_ending(error)
            logger.exception("%s: on_decision failed", self._connection.name)

    def _note(self, subject: Subject, session: Session, decision: str, **more: str | None) -> None:
        recorder = self._connection.recorder
        if recorder is not None:
            details = {name: getattr(subject, name) for name in ("kind", "tool")}
            commands = [_ASSIGNMENTS.sub(_without_values, each) for each in subject.commands]
            # a file name is not always valid text
            paths = [each.encode(errors="replace").decode() for each in subject.paths]
            details |= {"commands": commands, "paths": paths, "decision": decision}
            recorder.note(session.id, "permission", **details, **more)

    def _remember(self, subject: Subject, option: v2.PermissionOption, session: Session) -> None:
        """Store the user's answer to one of our own requests, for the turn or in the policy."""
        if option is TURN_OPTION:
            self._grants.add(subject, session)
            return
        scope = SCOPES.get(option.option_id)
        if scope is None or self._policy is None:
            return
        try:
            self._policy.remember(subject, "allow", scope)
        except OSError as error:
            logger.warning("%s: cannot remember the decision: %s", self._connection.name, error)


def _without_values(assignments: re.Match[str]) -> str:
    """Mask the values of variables, which may be secrets and are not kept in the journal."""
    return re.sub(rf"={_VALUE} ", f"={MASK} ", assignments[0])


def _option_for(
    options: Sequence[v2.PermissionOption], verdict: Verdict
) -> v2.PermissionOption | None:
    """Return the option that means exactly what the verdict says; None if there is none."""
    kinds = {"allow": "allow_once", "deny": "reject_once"}
    kind = kinds.get(verdict.decision)
    meant = next((each for each in options if each.kind == kind), None)
    ids = [each.option_id for each in options]
    return None if meant is None or ids.count(meant.option_id) != 1 else meant
