"""A proxy in ten lines: it asks for short answers, and lets everything else pass."""

from parley import Proxy
from parley.proxy import Request
from parley.schema import v2

proxy = Proxy("brief")


@proxy.from_client("session/prompt")
def ask_for_less(request: Request) -> None:
    request.change(prompt=[v2.TextContent(text="Be brief. "), *request.params.prompt])


if __name__ == "__main__":
    proxy.run()
