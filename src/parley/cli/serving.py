"""One run of `parley serve`: the settings, the signals, and what it reports on stderr."""

from __future__ import annotations

import argparse
import asyncio
import logging
import shlex
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import structs

from parley._display_text import sanitize_text
from parley.config._check import NAME
from parley.errors import ConfigError, ConnectFailed
from parley.gateway import config
from parley.gateway.config import AgentSettings, Settings
from parley.gateway.events import ignore
from parley.gateway.log import EventLog, JsonFormatter
from parley.gateway.service import Service, open_service
from parley.recording import RecordingWriter
from parley.transport.http._app import graceful_shutdown as stopping
from parley.transport.http._app.graceful_shutdown import GracefulShutdown
from parley.transport.http._app.serving import describe_listen_error
from parley.transport.http._tokens import example_command, new_token, token_path

from .recording_writers import close_writer
from .reporting import Exit, Failure, write_agent_stderr

__all__ = ["Serve"]

logger = logging.getLogger(__name__)


class Serve:
    """One run of the command."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        """Look at the command line and at the configuration.

        Raises:
            Failure: Something in them cannot be.
        """
        self._arguments = arguments
        try:
            file = None if arguments.config is None else Path(arguments.config)
            self._settings = _settings(config.load(file), arguments)
        except ConfigError as error:
            raise Failure(str(error), Exit.USAGE) from error
        self._is_json = self._settings.log_format == "json"
        if self._is_json:
            for handler in logging.getLogger("parley").handlers:
                handler.setFormatter(JsonFormatter())

    def run(self) -> int:
        """Serve until a signal comes, and return the exit code."""
        try:
            if self._arguments.new_token:
                return self._new_token()
            return self._run_service()
        except ConfigError as error:
            raise Failure(str(error), Exit.USAGE) from error
        except ConnectFailed as error:
            raise Failure(str(error), Exit.DIED) from error
        except OSError as error:
            raise Failure(
                f"cannot listen on {self._settings.http}: {describe_listen_error(error)}; choose "
                "another address with --http HOST:PORT"
            ) from error
        except asyncio.CancelledError:
            return Exit.CANCELLED

    def _run_service(self) -> int:
        if not self._arguments.tap:
            return stopping.run(self._serve(None))
        writer = RecordingWriter(may_wait=False)
        try:
            return stopping.run(self._serve(writer))
        finally:
            close_writer(writer)

    def _new_token(self) -> int:
        """Write a new token to the file, and report the file but never the token."""
        settings = self._settings
        files = [each.token_file for each in settings.principals]
        if len(files) > 1 or not settings.has_token or files == [None]:
            raise Failure("--new-token: name the file with --token-file FILE", Exit.USAGE)
        file = (files[0] if files else settings.token_file) or token_path()
        new_token(file)
        _write(
            f"parley: a new token is in {sanitize_text(str(file))}; "
            "send SIGHUP to the gateway, or restart it, to use it"
        )
        return Exit.DONE

    async def _serve(self, recordings: RecordingWriter | None) -> int:
        lines = EventLog(_write, self._settings.log_format)
        with GracefulShutdown(self._signalled) as stop:
            async with open_service(
                self._settings,
                on_event=ignore if self._arguments.quiet else lines.record,
                on_stderr=_pass_on if self._arguments.verbose else None,
                recordings=recordings,
            ) as service:
                self._announce(service)
                _on_hangup(lambda: self._renew(service))
                await stop.wait()
                await service.drain()
        return Exit.DONE

    def _renew(self, service: Service) -> None:
        try:
            service.renew()
        except ConfigError as error:
            logger.error("the certificate and tokens were not renewed: %s", error)

    def _announce(self, service: Service) -> None:
        """Report how to connect; the token itself is never shown."""
        for warning in service.warnings:
            logger.warning("warning: %s", warning)
        names = [each.name for each in service.gateway]
        for name in names if len(names) > 1 else [""]:
            url, file = service.url(name), service.auth.token_file
            served = f"{name or names[0]} is served at {url}"
            if file is None and not service.auth.access.is_open:
                self._say(f"{served}, {_for_whom(self._settings)}")
                continue
            self._say(f"{served}; try it with")
            self._say_plain(f"  {example_command(url, file)}")
        if service.page_url:
            self._say(f"chat in a browser at {service.page_url}{_token_of_page(service)}")
        self._say("press Ctrl-C to stop")

    def _signalled(self, is_second: bool) -> None:
        if is_second:
            self._say("stopped at once")
        else:
            seconds = self._settings.drain_after
            self._say(
                f"stopping; running turns have {seconds:g} seconds to end, press Ctrl-C again to "
                "end them now"
            )

    def _say(self, text: str) -> None:
        self._say_plain(f"parley: {text}")

    def _say_plain(self, text: str) -> None:
        if not self._is_json and not self._arguments.quiet:
            _write(sanitize_text(text))


def _on_hangup(renew: Callable[[], None]) -> None:
    """Renew on SIGHUP, unless stdin is a terminal: then SIGHUP means that it was closed."""
    if sys.platform == "win32" or (sys.stdin is not None and sys.stdin.isatty()):
        return
    with suppress(NotImplementedError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, renew)


def _for_whom(settings: Settings) -> str:
    """Return a description of who has access, if there is not one token file to name."""
    if settings.trusted_header is None:
        return "for clients that have a token"
    return f"for users that a proxy names in {settings.trusted_header}"


def _token_of_page(service: Service) -> str:
    if service.auth.token_file is None:
        return ""
    return f"; it asks for the token in {service.auth.token_file}"


def _write(line: str) -> None:
    with suppress(OSError):  # the reader of the log has gone; keep serving
        print(line, file=sys.stderr, flush=True)


def _pass_on(name: str, data: bytes) -> None:
    """Show what an agent writes to its stderr, each line with its name."""
    for line in data.decode(errors="replace").splitlines():
        write_agent_stderr(f"{name}: {sanitize_text(line)}\n".encode())


def _settings(known: Settings, arguments: argparse.Namespace) -> Settings:
    """Return the settings of the configuration with what the command line says about them."""
    changes: dict[str, Any] = {
        "agents": _agents(known, arguments),
        "hosts": [*known.hosts, *arguments.allow_host],
        "origins": [*known.origins, *arguments.allow_origin],
        "proxies": [*known.proxies, *arguments.proxy],
        "tls": _tls(known, arguments),
        "has_page": known.has_page or arguments.page,
        "allow_local_servers": known.allow_local_servers or arguments.allow_local_servers,
    }
    for name, given in (
        ("http", arguments.http),
        ("log_format", arguments.log_format),
        ("drain_after", arguments.drain),
        ("trusted_header", arguments.trusted_header),
    ):
        if given is not None:
            changes[name] = given
    if arguments.token_file is not None:
        if not arguments.new_token:
            _check_exists(arguments.token_file)
        changes |= {"token_file": Path(arguments.token_file), "principals": [], "has_token": True}
    if arguments.no_token:
        if arguments.token_file is not None:
            raise Failure("--no-token and --token-file cannot be combined", Exit.USAGE)
        changes |= {"has_token": False, "token_file": None, "principals": []}
    return structs.replace(known, **changes)


def _check_exists(token_file: str) -> None:
    """Raise a failure that says how to create the token file, if there is none."""
    try:
        Path(token_file).stat()
    except FileNotFoundError:
        create = shlex.join(["parley", "serve", "--new-token", "--token-file", token_file])
        raise Failure(
            f"--token-file: {token_file} does not exist; create it with `{create}`", Exit.USAGE
        ) from None
    except OSError:
        return  # reading the token reports what is wrong


def _agents(known: Settings, arguments: argparse.Namespace) -> list[AgentSettings]:
    """Return the agents of the command line; those of the configuration if there are none."""
    given = [AgentSettings(name="", target=each) for each in arguments.targets]
    for each in arguments.name:
        name, equals, target = each.partition("=")
        if not equals or not target or not NAME.fullmatch(name):
            raise Failure(f"--name: {each!r} is not NAME=TARGET", Exit.USAGE)
        given.append(AgentSettings(name=name, target=target))
    agents = given or known.agents or [AgentSettings(name="", target=None)]
    if not arguments.shared:
        return agents
    return [structs.replace(each, is_shared=True) for each in agents]


def _tls(known: Settings, arguments: argparse.Namespace) -> tuple[Path, Path] | None:
    if (arguments.tls_cert is None) is not (arguments.tls_key is None):
        raise Failure("--tls-cert and --tls-key must be given together", Exit.USAGE)
    if arguments.tls_cert is None:
        return known.tls
    return Path(arguments.tls_cert), Path(arguments.tls_key)
