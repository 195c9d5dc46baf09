"""`parley inspect` as a process: the page's server, and a recording that is made meanwhile."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import subprocess
from collections.abc import Generator
from typing import Any
from urllib.parse import urlsplit

from tests.unit.inspector.inspected import HANDSHAKE, KEY, chunk, prompt, record

from .command import PARLEY, parley

WAIT_SECONDS = 120


@contextlib.contextmanager
def inspecting(*words: str) -> Generator[tuple[subprocess.Popen[str], str]]:
    """Run the inspector; yields its process and the URL that it prints."""
    process = subprocess.Popen(
        [*PARLEY, "inspect", "--no-open", *words], stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        found = re.fullmatch(
            r"parley: the inspector is at (http://\S+)\n", process.stderr.readline()
        )
        assert found is not None
        yield process, found[1]
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


class Browser:
    """Logs in as the page does, and gets things of the API."""

    def __init__(self, url: str) -> None:
        self.address = urlsplit(url)
        body = json.dumps({"token": self.address.fragment})
        headers = {"content-type": "application/json", "origin": f"http://{self.address.netloc}"}
        response, _ = self._request("POST", "/api/login", body, headers)
        assert response.status == 204
        self._cookie = str(response.getheader("set-cookie")).partition(";")[0]

    def _request(
        self, method: str, path: str, body: str | None, headers: dict[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        assert self.address.hostname is not None
        connection = http.client.HTTPConnection(
            self.address.hostname, self.address.port, timeout=WAIT_SECONDS
        )
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response, response.read()

    def get(self, path: str) -> Any:
        response, body = self._request("GET", f"/api/{path}", None, {"cookie": self._cookie})
        assert response.status == 200
        return json.loads(body)


def test_the_page_has_every_recording_also_one_that_is_made_meanwhile() -> None:
    with inspecting() as (process, url):
        browser = Browser(url)
        assert browser.get("recordings") == []
        done = parley("run", "hello", "-a", "parley tap --name mine -- parley demo")
        assert done.returncode == 0, done.stderr
        (found,) = browser.get("recordings")
        assert (found["name"], found["exit"], found["is_live"]) == ("mine", "exit code 0", False)
        rows = browser.get(f"recordings/{found['key']}/rows")["rows"]
        methods = [row[4] for row in rows if row[3] == "request"]
        assert methods == ["initialize", "session/new", "session/prompt"]
        assert not [row for row in rows if row[11] & 16]
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT_SECONDS) == 0


def test_the_page_begins_with_the_recording_that_was_named() -> None:
    record(*HANDSHAKE, ("client", prompt()), ("agent", chunk("x")))
    with inspecting("demo") as (process, url):
        assert urlsplit(url).hostname == "127.0.0.1"
        assert urlsplit(url).query == f"recording={KEY}"
        assert len(Browser(url).get(f"recordings/{KEY}/rows")["rows"]) == 4
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_SECONDS) == 0


def test_a_port_in_use_is_reported() -> None:
    with inspecting() as (_, url):
        done = parley("inspect", "--no-open", "--port", str(urlsplit(url).port))
    assert done.returncode == 1
    assert done.stderr.endswith(": the address is already in use\n")
