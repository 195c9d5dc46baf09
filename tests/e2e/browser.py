"""A Chromium without a window, driven through the DevTools protocol on two pipes.

What a page asks for, says on its console and is forbidden by its policy is written down, so that a
test can look at it. Nothing is bypassed: the page runs under its own content policy.

It takes long to start, so the tests of a process share one. Each page is in a browser context of
its own, which shares nothing with another, as with a fresh profile. They are closed with the test.
"""

from __future__ import annotations

import asyncio
import base64
import fcntl
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)
"""The browser; None where there is none."""
PHONE = (360, 740, True)
DESKTOP = (1280, 800, False)
_PATIENCE = 30.0
"""So many seconds is waited for what the page is to show; less than a test may take."""

# The browser reads commands from descriptor 3 and writes to descriptor 4.
_EXEC = """
import os, sys
read, write, *command = sys.argv[1:]
os.dup2(int(read), 3)
os.dup2(int(write), 4)
os.execvp(command[0], command)
"""
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--no-default-browser-check", "--disable-background-networking", "--disable-sync",
    "--disable-component-update", "--disable-extensions", "--disable-default-apps", "--mute-audio",
    "--remote-debugging-pipe", "--ignore-certificate-errors",
    "--disable-features=SpareRendererForSitePerProcess",  # a process that is ready for a next page
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)  # fmt: skip

_SPOT = """(() => {
  const found = [...document.querySelectorAll(%s)].find((each) =>
    each.textContent.includes(%s) && each.checkVisibility() && !each.disabled);
  if (!found) return null;
  found.scrollIntoView({ block: "nearest" });
  const box = found.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})()"""


_KEY_CODES = {
    "Tab": 9, "Enter": 13, "Escape": 27, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36,
    "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip

_HAVING = """if (!sessionStorage.getItem("tests.had")) {
  sessionStorage.setItem("tests.had", "yes");
  sessionStorage.setItem("parley.token", "%s");
}"""


class Failed(Exception):
    """The browser refused a command, or a script threw."""


class Chromium:
    """The process; a thread hands what it writes to the browser of the test that runs."""

    def __init__(self) -> None:
        assert CHROMIUM is not None
        theirs_in, self._input = os.pipe()
        self._output, theirs_out = os.pipe()
        self._profile = tempfile.mkdtemp()
        high = [fcntl.fcntl(each, fcntl.F_DUPFD, 20) for each in (theirs_in, theirs_out)]
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-c", _EXEC, *map(str, high), CHROMIUM, *_FLAGS),
                f"--user-data-dir={self._profile}",
            ],
            pass_fds=high,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for each in (theirs_in, theirs_out, *high):
            os.close(each)
        self.ids = itertools.count(1)
        self.browser: Browser | None = None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def write(self, message: dict[str, Any]) -> None:
        """Send a command; it always reads."""
        data = memoryview(json.dumps(message).encode() + b"\0")
        while data:
            data = data[os.write(self._input, data) :]

    def _read(self) -> None:
        rest = b""
        while data := os.read(self._output, 1 << 16):
            *messages, rest = (rest + data).split(b"\0") if b"\0" in data else (rest + data,)
            for each in messages:
                self._hand_over(json.loads(each))
        self._hand_over(None)

    def _hand_over(self, message: dict[str, Any] | None) -> None:
        if (browser := self.browser) is not None:
            with suppress(RuntimeError):  # its test has ended
                browser.loop.call_soon_threadsafe(browser.take, message)

    def close(self) -> None:
        """End it, with everything that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join()
        os.close(self._input)
        os.close(self._output)
        shutil.rmtree(self._profile, ignore_errors=True)


class Browser:
    """The browser of one test."""

    def __init__(self, chromium: Chromium) -> None:
        self.loop = asyncio.get_running_loop()
        self._chromium = chromium
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._pages: dict[str, Page] = {}
        self._contexts: list[str] = []
        chromium.browser = self

    async def call(self, method: str, page: str | None = None, **params: Any) -> Any:
        id = next(self._chromium.ids)
        message: dict[str, Any] = {"id": id, "method": method, "params": params}
        if page is not None:
            message["sessionId"] = page
        response = self._calls[id] = self.loop.create_future()
        self._chromium.write(message)
        return await response

    def take(self, message: dict[str, Any] | None) -> None:
        """Take a response or an event, or the end of the process."""
        if message is None:
            for waiting in self._calls.values():
                if not waiting.done():
                    waiting.set_exception(Failed("the browser has ended"))
        elif "id" not in message:
            page = self._pages.get(message.get("sessionId", ""))
            if page is not None:
                page.take(message["method"], message["params"])
        else:
            response = self._calls.pop(message["id"], None)  # None: of an earlier test
            if response is None or response.done():
                pass
            elif "error" in message:
                response.set_exception(Failed(message["error"]["message"]))
            else:
                response.set_result(message["result"])

    async def close(self) -> None:
        """Close the pages."""
        for context in self._contexts:
            await self.call("Target.disposeBrowserContext", browserContextId=context)
        self._chromium.browser = None

    async def open(
        self,
        url: str,
        size: tuple[int, int, bool] = PHONE,
        dark: bool = False,
        *,
        token: str = "",
    ) -> Page:
        """Open a page in a tab of its own, with nothing in common with others.

        With a token the tab has it already, as if it was typed there.
        """
        context = (await self.call("Target.createBrowserContext"))["browserContextId"]
        self._contexts.append(context)
        target = await self.call("Target.createTarget", url="about:blank", browserContextId=context)
        attached = await self.call(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        page = Page(self, attached["sessionId"])
        self._pages[attached["sessionId"]] = page
        await page.begin(size, dark)
        if token:
            await page.call("Page.addScriptToEvaluateOnNewDocument", source=_HAVING % token)
        await page.go(url)
        return page


class Page:
    """One tab."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self._changed = asyncio.Event()
        self.requests: list[str] = []
        """The addresses that were asked for."""
        self.headers: list[dict[str, str]] = []
        """What was sent with each of them."""
        self.problems: list[str] = []
        """What the console and the policy say; that the network is away is none."""
        self.dialogs: list[str] = []
        self._loads = 0

    async def call(self, method: str, **params: Any) -> Any:
        return await self._browser.call(method, self._session, **params)

    async def begin(self, size: tuple[int, int, bool], dark: bool) -> None:
        for domain in ("Page", "Runtime", "Network", "Log", "Audits"):
            await self.call(f"{domain}.enable")
        width, height, is_phone = size
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=is_phone,
        )  # fmt: skip
        await self.call("Emulation.setTouchEmulationEnabled", enabled=is_phone)
        scheme = "dark" if dark else "light"
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        await self.call("Emulation.setEmulatedMedia", features=features)

    def take(self, method: str, params: dict[str, Any]) -> None:
        match method:
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
                self.headers.append(params["request"]["headers"])
            case "Log.entryAdded" if params["entry"]["source"] != "network":
                self.problems.append(f"{params['entry']['level']}: {params['entry']['text']}")
            case "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                self.problems.append(str(details.get("exception", details).get("description")))
            case "Runtime.consoleAPICalled":
                self.problems.append(str([each.get("value") for each in params["args"]]))
            case "Audits.issueAdded" if "ContentSecurityPolicy" in params["issue"]["code"]:
                self.problems.append(str(params["issue"]))
            case "Page.javascriptDialogOpening":
                self.dialogs.append(params["message"])
            case "Page.loadEventFired":
                self._loads += 1
            case _:
                pass
        self._changed.set()

    async def go(self, url: str) -> None:
        loads = self._loads
        await self.call("Page.navigate", url=url)
        await self._until(lambda: self._loads > loads)

    async def reload(self) -> None:
        loads = self._loads
        await self.call("Page.reload")
        await self._until(lambda: self._loads > loads)

    async def _until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            self._changed.clear()
            await self._changed.wait()

    async def run(self, script: str) -> Any:
        """Evaluate an expression; a promise is waited for."""
        found = await self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in found:
            raise Failed(str(found["exceptionDetails"].get("exception", found)))
        return found["result"].get("value")

    async def when(self, condition: str) -> Any:
        """Wait until an expression is true; looked at whenever the page is painted."""
        return await self.run(
            "new Promise((done) => { const look = () => { let is; try { is = (" + condition + ") }"
            " catch { is = false } is ? done(is) : setTimeout(look, 20) }; look() })"
        )

    async def sees(self, text: str, where: str = "#log") -> None:
        """Wait until a text can be read somewhere."""
        wanted, place = json.dumps(text), json.dumps(where)
        try:
            async with asyncio.timeout(_PATIENCE):
                await self.when(
                    f"[...document.querySelectorAll({place})]"
                    f".some((each) => each.textContent.includes({wanted}))"
                )
        except TimeoutError:
            shown = await self.text(where)
            raise AssertionError(f"{text!r} did not come: {shown}\n{self.problems}") from None

    async def text(self, where: str = "#log") -> str:
        found = await self.run(
            f"[...document.querySelectorAll({json.dumps(where)})]"
            ".map((each) => each.textContent).join('\\n')"
        )
        return str(found)

    async def count(self, where: str) -> int:
        return int(await self.run(f"document.querySelectorAll({json.dumps(where)}).length"))

    async def click(self, where: str, text: str = "") -> None:
        """Click on the first element that can be seen and has a text, with the mouse."""
        try:
            async with asyncio.timeout(_PATIENCE):
                spot = await self.when(_SPOT % (json.dumps(where), json.dumps(text)))
        except TimeoutError:
            shown = await self.text("body")
            raise AssertionError(f"no {where} with {text!r}: {shown}\n{self.problems}") from None
        for kind in ("mousePressed", "mouseReleased"):
            await self.call(
                "Input.dispatchMouseEvent",
                type=kind, x=spot[0], y=spot[1], button="left", clickCount=1,
            )  # fmt: skip
        await self.point(1, 1)  # where it rests on nothing

    async def point(self, x: float, y: float) -> None:
        """Move the mouse."""
        await self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    async def type(self, text: str) -> None:
        await self.call("Input.insertText", text=text)

    async def press(self, key: str) -> None:
        """Press a key; a character is typed as it is."""
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        more = {"text": text} if text else {}
        code = _KEY_CODES.get(key, ord(key[0].upper()))
        for kind in ("keyDown", "keyUp"):
            await self.call(
                "Input.dispatchKeyEvent",
                type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more,
            )  # fmt: skip

    async def picture(self) -> bytes:
        """What can be seen now, as PNG."""
        found = await self.call("Page.captureScreenshot", format="png")
        return base64.b64decode(found["data"])


_shared: list[Chromium] = []
"""The one of this process, once it is there."""


@asynccontextmanager
async def browser() -> AsyncGenerator[Browser]:
    """Open a browser; Chromium is started if it does not run."""
    if _shared and _shared[0].process.poll() is not None:
        close_chromium()
    if not _shared:
        _shared.append(Chromium())
    opened = Browser(_shared[0])
    try:
        yield opened
    finally:
        await opened.close()


def close_chromium() -> None:
    """End the process that the tests have shared, if there is one."""
    while _shared:
        _shared.pop().close()
