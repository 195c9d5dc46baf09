"""Print what an agent wrote in the last recording of it: python read_recording.py opencode.

Make one with `parley tap -- opencode acp`.
"""

import sys

from parley.recording import RecordedLine, RecordingStore


def main(name: str) -> None:
    with RecordingStore().find(name).open() as reader:
        for item in reader:
            if isinstance(item, RecordedLine) and item.source == "agent":
                print(item.at, item.message)


if __name__ == "__main__":
    main(sys.argv[1])
