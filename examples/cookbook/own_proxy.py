"""Add a rule to every first prompt, whichever client and agent are connected."""

from parley import Proxy
from parley.proxy import Request
from parley.schema import v2

RULE = v2.TextContent(text="Answer in one sentence. ")
proxy = Proxy("brief")


@proxy.from_client("session/prompt")
def add_rule(request: Request) -> None:
    sessions: set[str] = request.connection.state.setdefault("sessions", set())
    if request.session_id not in sessions:
        sessions.add(request.session_id)
        request.change(prompt=[RULE, *request.params.prompt])


if __name__ == "__main__":
    proxy.run()
