"""Actions that a rule denies and that the agent carried out all the same.

A rule decides what the agent asks about, and what it does through this client. Some agents never
ask, and run commands themselves: then a rule cannot hold anything back, and the user, who relies on
it, must at least learn what happened. So each tool call that has ended is compared with the rules
at the end of its turn.
"""

from __future__ import annotations

from collections.abc import Iterator

from parley._display_text import sanitize_text
from parley.client import PermissionDecision, Session
from parley.client._permission_handler import with_origin
from parley.policy import Policy, Subject, Verdict, subject_of
from parley.policy._off_loop import run_off_loop
from parley.policy._request import is_small
from parley.schema import v2
from parley.session._transcript_entries import ToolCallEntry

__all__ = ["ADVICE", "DeniedActions"]

_ENDED = ("completed", "failed")
_MAX_CALLS = 1_000
"""The number of tool calls of a turn that are compared with the rules."""
_MAX_SENTENCES = 20
"""The number of actions of a turn that are reported one by one."""
_MAX_NAMES = 3
_NAME_CHARS = 200
ADVICE = "Rules only hold for agents that ask. Run an agent that does not ask in a sandbox."


class DeniedActions:
    """Finds the tool calls of a turn that were carried out although a rule denies them."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._ended: dict[str, None] = {}
        """The ids of the calls that have ended in this turn, in their order."""
        self._unexamined = 0
        """The number of calls that have ended in this turn and are not compared with the rules."""
        self._requested: set[str] = set()
        self._held_back: set[str] = set()
        """The commands and paths that were denied in this turn."""
        self._has_advised = False

    def add_update(self, update: v2.SessionUpdate) -> None:
        """Note the tool calls that end."""
        if not isinstance(update, v2.ToolCallUpdate) or update.status not in _ENDED:
            return
        if len(self._ended) < _MAX_CALLS:
            self._ended[update.tool_call_id] = None
        elif update.tool_call_id not in self._ended:
            self._unexamined += 1

    def add_decision(self, decision: PermissionDecision) -> None:
        """Note what the agent asked about, itself or through the files and terminals lent to it."""
        subject = decision.request.subject
        if isinstance(subject, v2.ToolCallPermissionSubject):
            self._requested.add(subject.tool_call.tool_call_id)
        if not decision.is_allowed and len(self._held_back) < _MAX_CALLS:
            self._held_back.update(decision.subject.commands, decision.subject.paths)

    async def report(self, session: Session, agent: str) -> list[str]:
        """Return a sentence for each denied action since the last report, and what to do.

        Args:
            session: The session whose turn has ended.
            agent: The name of the agent for people.
        """
        ended, requested, unexamined = list(self._ended), self._requested, self._unexamined
        held_back = self._held_back
        self._ended, self._unexamined = {}, 0
        self._requested, self._held_back = set(), set()
        sentences: list[str] = []
        for tool_call_id in ended:
            call = session.transcript.tool_calls.get(tool_call_id)
            if call is None or (call.status == "failed" and tool_call_id in requested):
                continue  # what was asked and then failed was held back
            subject, verdict = await run_off_loop(is_small(call), self._judge, call, session)
            if call.status == "failed" and not held_back.isdisjoint(
                (*subject.commands, *subject.paths)
            ):
                continue
            if verdict.decision == "deny":
                did = "did" if call.status == "completed" else "tried"
                why = "it was denied" if tool_call_id in requested else "a rule denies it"
                suffix = "" if tool_call_id in requested else " without asking"
                action = ", ".join(_describe(subject))
                sentences.append(
                    f"{agent} {did} this{suffix}, although {why}: {action} ({verdict.reason})"
                )
        if (more := len(sentences) - _MAX_SENTENCES) > 0:
            sentences[_MAX_SENTENCES:] = [f"{agent} did {more:,} more things that are denied"]
        if unexamined:
            sentences.append(
                f"{unexamined:,} more actions of {agent} were not compared with the rules"
            )
        if sentences and not self._has_advised:
            self._has_advised = True
            sentences.append(ADVICE)
        return sentences

    def _judge(self, call: ToolCallEntry, session: Session) -> tuple[Subject, Verdict]:
        """Return what a tool call was about, and what the rules say of that."""
        update = v2.ToolCallUpdate(tool_call_id=call.id)
        request = v2.RequestPermissionRequest(
            session_id=session.id,
            subject=v2.ToolCallPermissionSubject(tool_call=update),
            title="",
            options=[],
        )
        cwd = session.cwd or str(session.connection.cwd)
        subject = with_origin(subject_of(request, call, cwd), session)
        return subject, self._policy.decide(subject)


def _describe(subject: Subject) -> Iterator[str]:
    """Yield the commands or the paths of an action, else its kind, each on one line."""
    names = subject.commands or subject.paths or (subject.tool or subject.kind,)
    for name in names[:_MAX_NAMES]:
        line = sanitize_text(name[: 2 * _NAME_CHARS], is_line=True)
        is_whole = len(name) <= 2 * _NAME_CHARS and len(line) <= _NAME_CHARS
        yield line if is_whole else f"{line[:_NAME_CHARS]}…"
    if len(names) > _MAX_NAMES:
        yield f"and {len(names) - _MAX_NAMES:,} more"
