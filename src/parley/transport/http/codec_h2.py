"""HTTP/2's frames, on h2, for both sides: what of that library is replaced, and why.

It counts the open streams by looking at all of them whenever one is opened, and only then forgets
those that are closed; with a thousand event streams that is most of what a request costs. Here who
uses it counts, and says when a stream is over. It searches its table for each header field; see
`header_encoder.py`. It checks header fields by ending the connection; here that is `head.py`'s
work, which ends the request. The settings of a server's connection take eleven kilobytes there;
here one. It ends a connection at a GOAWAY, on which some streams may still end well. It waits for
the whole of a frame before it finds that it is too long, which may be 16 MiB, and keeps a megabyte
of a head that is not whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from h2.config import H2Configuration
from h2.connection import ConnectionInputs, H2Connection, H2ConnectionStateMachine
from h2.errors import ErrorCodes
from h2.events import Event
from h2.exceptions import DenialOfServiceError, FrameTooLargeError
from h2.settings import SettingCodes, Settings
from hpack import Encoder
from hyperframe.frame import GoAwayFrame

from .header_encoder import HeaderEncoder
from .limits import ServerLimits

__all__ = ["PREFACE", "ClientCodec", "ServerCodec"]

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_FRAME_HEAD_BYTES = 9
_SAID_ONCE = (b"date", b"etag", b"acp-connection-id")
_ASKED_ONCE = (b"parley-message",)


class _StateMachine(H2ConnectionStateMachine):
    """Goes on after a GOAWAY, until the streams that are open have ended."""

    def process_input(self, input_: ConnectionInputs) -> list[Event]:
        return [] if input_ is ConnectionInputs.RECV_GOAWAY else super().process_input(input_)


class _Codec(H2Connection):
    """What both sides have in common."""

    def __init__(self, *, is_client: bool, passing: Iterable[bytes]) -> None:
        super().__init__(
            H2Configuration(
                client_side=is_client,
                header_encoding=None,
                validate_inbound_headers=False,
                normalize_inbound_headers=False,
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
            )
        )
        self.encoder = cast(Encoder, HeaderEncoder(passing))
        self.state_machine = _StateMachine()

    @property
    def open_inbound_streams(self) -> int:
        """Say that there is room: who uses this counts."""
        return 0

    @property
    def open_outbound_streams(self) -> int:
        """Likewise."""
        return 0

    def receive_data(self, data: Any) -> list[Event]:
        """Take bytes, and return what they mean.

        Raises:
            ProtocolError: They break a rule; the peer is told which.
        """
        found = super().receive_data(data)
        if self._held_bytes() > self.max_inbound_frame_size + _FRAME_HEAD_BYTES:
            self.close_connection(ErrorCodes.FRAME_SIZE_ERROR)
            raise FrameTooLargeError("a frame that is too long")
        return found

    def clear_outbound_data_buffer(self) -> None:
        """Keep what is to be sent: a GOAWAY forbids none of it."""

    @property
    def head_bytes(self) -> int:
        """How much has come of a head that is not whole."""
        parts: list[Any] = cast(Any, self.incoming_buffer)._headers_buffer
        return sum(len(each.data) for each in parts)

    def _held_bytes(self) -> int:
        """Return how much has come of a frame that is not whole; versions of h2 differ."""
        held = vars(self.incoming_buffer)
        return len(held["_data"] if "_data" in held else held["data"])

    def forget(self, stream_id: int) -> None:
        """Drop what is kept of a stream that is over."""
        stream = self.streams.pop(stream_id, None)
        if stream is not None:
            self._closed_streams[stream_id] = stream.closed_by


class _Values(list[int]):
    """The values of a setting, as h2 handles them; its own deques are most of a connection."""

    __slots__ = ()

    def popleft(self) -> int:
        """Forget the value that was in force."""
        return self.pop(0)


class ServerCodec(_Codec):
    """The server's side of one HTTP/2 connection."""

    MAX_CLOSED_STREAMS = 1024

    def __init__(self, limits: ServerLimits) -> None:
        super().__init__(is_client=False, passing=_SAID_ONCE)
        self._most_head_bytes = limits.header_bytes
        self.local_settings = Settings(
            client=False,
            initial_values={
                SettingCodes.MAX_CONCURRENT_STREAMS: limits.streams,
                SettingCodes.MAX_HEADER_LIST_SIZE: limits.header_bytes,
                SettingCodes.INITIAL_WINDOW_SIZE: limits.unread_bytes,
                SettingCodes.ENABLE_PUSH: 0,
            },
        )
        for settings in (self.local_settings, self.remote_settings):
            values = cast(Any, settings)._settings
            values.update({code: _Values(each) for code, each in values.items()})
        self.decoder.max_header_list_size = limits.header_bytes
        self.initiate_connection()
        if (more := limits.connection_unread_bytes - 65535) > 0:
            self.increment_flow_control_window(more)

    def receive_data(self, data: Any) -> list[Event]:
        """Take bytes, and return what they mean.

        Raises:
            ProtocolError: They break a rule; the peer is told which.
        """
        found = super().receive_data(data)
        if self.head_bytes > self._most_head_bytes:
            self.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
            raise DenialOfServiceError("a head that is too long")
        return found

    def farewell(self) -> bytes:
        """Return a GOAWAY that lets open streams end; h2's own would forbid them to."""
        frame = GoAwayFrame(0)
        frame.last_stream_id = self.highest_inbound_stream_id
        return frame.serialize()


class ClientCodec(_Codec):
    """The client's side of one HTTP/2 connection."""

    def __init__(self, *, stream_window: int, frame_bytes: int, head_bytes: int) -> None:
        """Prepare our side.

        Args:
            stream_window: What a server may send on a stream before any of it is taken.
            frame_bytes: How long a frame of its may be.
            head_bytes: How long the head of an answer may be.
        """
        super().__init__(is_client=True, passing=_ASKED_ONCE)
        self.local_settings = Settings(
            client=True,
            initial_values={
                SettingCodes.ENABLE_PUSH: 0,
                SettingCodes.INITIAL_WINDOW_SIZE: stream_window,
                SettingCodes.MAX_FRAME_SIZE: frame_bytes,
                SettingCodes.MAX_HEADER_LIST_SIZE: head_bytes,
            },
        )
        self.max_inbound_frame_size = frame_bytes
