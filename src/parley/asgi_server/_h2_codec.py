"""HTTP/2 framing, on top of h2: which parts of h2 are replaced, and why.

- h2 counts the open streams by looking at all of them whenever one is opened, and only then forgets
  the closed ones. With a thousand event streams that is most of what a request costs. Here the
  caller counts, and calls `forget` when a stream is over.
- When a header field is invalid, h2 closes the connection. Here `_request_head.py` checks them,
  and only the request fails.
- The settings of a server connection take eleven kilobytes in h2, one here.
- h2 ends the connection at a GOAWAY, although open streams may still complete.
- It reads a whole frame, up to 16 MiB, before it notices that the frame is too long, and it buffers
  up to a megabyte of an incomplete header block.
- It keeps any number of settings, even unknown ones, and goes through all of them at each SETTINGS
  frame. Here a SETTINGS frame may have a few entries only, and unknown ones are ignored.
- It lets the peer choose the size of the HPACK encoder's table, which is searched from end to end.
"""

from __future__ import annotations

from typing import Any, cast

from h2.config import H2Configuration
from h2.connection import ConnectionInputs, H2Connection, H2ConnectionStateMachine
from h2.errors import ErrorCodes
from h2.events import Event
from h2.exceptions import DenialOfServiceError, FrameTooLargeError
from h2.settings import SettingCodes, Settings
from hyperframe.frame import Frame, GoAwayFrame, SettingsFrame

from .limits import ServerLimits

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_FRAME_HEAD_BYTES = 9
_MAX_SETTINGS = 64
_SETTING_BYTES = 6
_KNOWN_SETTINGS = frozenset(map(int, SettingCodes))
_MAX_ENCODER_TABLE_BYTES = 4096
"""The size that HPACK tables have by default; a peer can make ours smaller, but not larger."""


class _StateMachine(H2ConnectionStateMachine):
    """A state machine that ignores GOAWAY, so that open streams can complete."""

    def process_input(self, input_: ConnectionInputs) -> list[Event]:
        return [] if input_ is ConnectionInputs.RECV_GOAWAY else super().process_input(input_)


class _Values(list[int]):
    """The values of a setting; h2's own deques take most of a connection's memory."""

    __slots__ = ()

    def popleft(self) -> int:
        """Drop and return the value that was in effect, like `deque.popleft`."""
        return self.pop(0)


class ServerCodec(H2Connection):
    """The server side of one HTTP/2 connection."""

    MAX_CLOSED_STREAMS = 1024

    def __init__(self, limits: ServerLimits) -> None:
        super().__init__(
            H2Configuration(
                client_side=False,
                header_encoding=None,
                validate_inbound_headers=False,
                normalize_inbound_headers=False,
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
            )
        )
        self.state_machine = _StateMachine()
        self._max_head_bytes = limits.header_bytes
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

    @property
    def open_inbound_streams(self) -> int:
        """Always 0, so that h2 never refuses a stream; the caller counts streams."""
        return 0

    def receive_data(self, data: Any) -> list[Event]:
        """Parse bytes from the peer and return the events in them.

        Raises:
            ProtocolError: The peer violated the protocol; a GOAWAY with the code is ready to send.
        """
        events = super().receive_data(data)
        if self._incomplete_frame_bytes() > self.max_inbound_frame_size + _FRAME_HEAD_BYTES:
            self.close_connection(ErrorCodes.FRAME_SIZE_ERROR)
            raise FrameTooLargeError("a frame that is too long")
        if self.head_bytes > self._max_head_bytes:
            self.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
            raise DenialOfServiceError("a head that is too long")
        return events

    def _receive_settings_frame(self, frame: SettingsFrame) -> tuple[list[Frame], list[Event]]:
        """Apply a SETTINGS frame, ignoring unknown settings and rejecting too many.

        The peer's limit for our HPACK table is only followed downwards.

        "An endpoint that receives a SETTINGS frame with any unknown or unsupported identifier MUST
        ignore that setting": https://www.rfc-editor.org/rfc/rfc9113#section-6.5.2
        """
        if frame.body_len > _MAX_SETTINGS * _SETTING_BYTES:
            raise DenialOfServiceError("a SETTINGS frame with too many entries")
        frame.settings = {id: each for id, each in frame.settings.items() if id in _KNOWN_SETTINGS}
        table_size = SettingCodes.HEADER_TABLE_SIZE
        if frame.settings.get(table_size, 0) > _MAX_ENCODER_TABLE_BYTES:
            frame.settings[table_size] = _MAX_ENCODER_TABLE_BYTES
        return super()._receive_settings_frame(frame)

    def clear_outbound_data_buffer(self) -> None:
        """Keep the outbound data: h2 calls this at a GOAWAY, after which it may still be sent."""

    @property
    def head_bytes(self) -> int:
        """The number of bytes received of an incomplete header block."""
        parts: list[Any] = cast(Any, self.incoming_buffer)._headers_buffer
        return sum(len(each.data) for each in parts)

    def _incomplete_frame_bytes(self) -> int:
        """Return the size of the incomplete frame; h2's attribute for it depends on its version."""
        buffer = vars(self.incoming_buffer)
        return len(buffer["_data"] if "_data" in buffer else buffer["data"])

    def forget(self, stream_id: int) -> None:
        """Drop the state of a stream that is over."""
        stream = self.streams.pop(stream_id, None)
        if stream is not None:
            self._closed_streams[stream_id] = stream.closed_by

    def encode_goaway(self) -> bytes:
        """Return a GOAWAY frame that lets open streams complete; h2's own would close them."""
        frame = GoAwayFrame(0)
        frame.last_stream_id = self.highest_inbound_stream_id
        return frame.serialize()
