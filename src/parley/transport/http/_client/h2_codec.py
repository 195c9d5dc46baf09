"""HTTP/2 framing for the client, on top of h2: which parts of h2 are replaced, and why.

- h2 counts the open streams by looking at all of them whenever one is opened, and only then forgets
  the closed ones. Here the caller counts, and calls `forget` when a stream is over.
- h2 ends the connection at a GOAWAY, although open streams may still complete.
- It reads a whole frame, up to 16 MiB, before it notices that the frame is too long.
- It keeps any number of settings, even unknown ones, and goes through all of them at each SETTINGS
  frame. Here a SETTINGS frame may have a few entries only, and unknown ones are ignored.
- It lets the peer choose the size of the HPACK encoder's table, which is searched from end to end.

The codec of `parley.asgi_server`, which stands alone, replaces some of the same parts.
"""

from __future__ import annotations

from typing import Any

from h2.config import H2Configuration
from h2.connection import ConnectionInputs, H2Connection, H2ConnectionStateMachine
from h2.errors import ErrorCodes
from h2.events import Event
from h2.exceptions import DenialOfServiceError, FrameTooLargeError
from h2.settings import SettingCodes, Settings
from hyperframe.frame import Frame, SettingsFrame

_FRAME_HEAD_BYTES = 9
_MAX_SETTINGS = 64
_SETTING_BYTES = 6
_KNOWN_SETTINGS = frozenset(map(int, SettingCodes))
_MAX_ENCODER_TABLE_BYTES = 4096
"""The size that HPACK tables have by default; a server can make ours smaller, but not larger."""


class _StateMachine(H2ConnectionStateMachine):
    """A state machine that ignores GOAWAY, so that open streams can complete."""

    def process_input(self, input_: ConnectionInputs) -> list[Event]:
        return [] if input_ is ConnectionInputs.RECV_GOAWAY else super().process_input(input_)


class ClientCodec(H2Connection):
    """The client side of one HTTP/2 connection."""

    def __init__(self, *, stream_window: int, frame_bytes: int, head_bytes: int) -> None:
        """Prepare the client's settings.

        Args:
            stream_window: How many bytes the server may send on a stream before they are consumed.
            frame_bytes: The maximum size of a frame from the server.
            head_bytes: The maximum size of a response's headers.
        """
        super().__init__(
            H2Configuration(
                client_side=True,
                header_encoding=None,
                validate_inbound_headers=False,
                normalize_inbound_headers=False,
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
            )
        )
        self.state_machine = _StateMachine()
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

    @property
    def open_outbound_streams(self) -> int:
        """Always 0, so that h2 never refuses a stream; the caller counts streams."""
        return 0

    def receive_data(self, data: Any) -> list[Event]:
        """Parse bytes from the server and return the events in them.

        Raises:
            ProtocolError: The server violated the protocol; a GOAWAY with the code is ready.
        """
        events = super().receive_data(data)
        if self._incomplete_frame_bytes() > self.max_inbound_frame_size + _FRAME_HEAD_BYTES:
            self.close_connection(ErrorCodes.FRAME_SIZE_ERROR)
            raise FrameTooLargeError("a frame that is too long")
        return events

    def _receive_settings_frame(self, frame: SettingsFrame) -> tuple[list[Frame], list[Event]]:
        """Apply a SETTINGS frame, ignoring unknown settings and rejecting too many.

        The server's limit for our HPACK table is only followed downwards.
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

    def _incomplete_frame_bytes(self) -> int:
        """Return the size of the incomplete frame; h2's attribute for it depends on its version."""
        buffer = vars(self.incoming_buffer)
        return len(buffer["_data"] if "_data" in buffer else buffer["data"])

    def forget(self, stream_id: int) -> None:
        """Drop the state of a stream that is over."""
        stream = self.streams.pop(stream_id, None)
        if stream is not None:
            self._closed_streams[stream_id] = stream.closed_by
