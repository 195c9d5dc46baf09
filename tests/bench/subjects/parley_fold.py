"""Folds chunks into one message with Parley's transcript; prints seconds per chunk by count."""

import json
import sys
import time

from parley.schema import v2
from parley.session._transcript import Transcript

FILLER = "the quick brown fox jumps over the lazy dog, again."
AT_LEAST = 100_000


def cost(count: int) -> float:
    """Fold so many into each of some transcripts, whose text is read at the end."""
    chunks = [
        v2.AgentMessageChunk(
            message_id="message", content=v2.TextContent(text=f"{number:08d} {FILLER}")
        )
        for number in range(count)
    ]
    times = max(1, AT_LEAST // count)
    begin = time.process_time()
    for _ in range(times):
        transcript = Transcript()
        for chunk in chunks:
            transcript.fold(chunk)
        assert len(transcript.text) == 60 * count
    return (time.process_time() - begin) / count / times


def main() -> None:
    cost(AT_LEAST // 10)
    sys.stdout.write(json.dumps({count: cost(int(count)) for count in sys.argv[1:]}))


if __name__ == "__main__":
    main()
