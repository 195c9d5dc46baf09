"""HTTP/2's frames, on h2: the one place that knows how that library is to be driven.

Three things of h2's are replaced. It counts the open streams by looking at all of them whenever one
is opened, and only then forgets those that are closed; with a thousand event streams that is most
of what a request costs. Here the front counts, and says when a stream is over. And h2 checks header
fields by ending the connection; here that is `head.py`'s work, which ends the request. And the
settings of a connection take eleven kilobytes there; here one.
"""

from __future__ import annotations

from typing import Any, cast

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes, Settings
from hpack import Encoder
from hyperframe.frame import GoAwayFrame

from .header_encoder import HeaderEncoder
from .limits import ServerLimits

__all__ = ["PREFACE", "Codec"]

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_PASSING = (b"date", b"etag", b"acp-connection-id")
_CONFIG = H2Configuration(
    client_side=False,
    header_encoding=None,
    validate_inbound_headers=False,
    normalize_inbound_headers=False,
    validate_outbound_headers=False,
    normalize_outbound_headers=False,
)


class _Values(list[int]):
    """The values of a setting, as h2 handles them; its own deques are most of a connection."""

    __slots__ = ()

    def popleft(self) -> int:
        """Forget the value that was in force."""
        return self.pop(0)


class Codec(H2Connection):
    """The server's side of one HTTP/2 connection."""

    MAX_CLOSED_STREAMS = 1024

    def __init__(self, limits: ServerLimits) -> None:
        super().__init__(_CONFIG)
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
        self.encoder = cast(Encoder, HeaderEncoder(_PASSING))
        self.decoder.max_header_list_size = limits.header_bytes
        self.initiate_connection()
        if (more := limits.connection_unread_bytes - 65535) > 0:
            self.increment_flow_control_window(more)

    @property
    def open_inbound_streams(self) -> int:
        """Say that there is room: the front refuses what is too much."""
        return 0

    def forget(self, stream_id: int) -> None:
        """Drop what is kept of a stream that is closed on both sides."""
        stream = self.streams.pop(stream_id, None)
        if stream is not None:
            self._closed_streams[stream_id] = stream.closed_by

    def farewell(self) -> bytes:
        """Return a GOAWAY that lets open streams end; h2's own would forbid them to."""
        frame = GoAwayFrame(0)
        frame.last_stream_id = self.highest_inbound_stream_id
        return frame.serialize()
