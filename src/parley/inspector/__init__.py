"""The inspector: recorded connections as rows in a terminal, and as a page in a browser.

`parley inspect` runs it. It reads the recordings that `parley.recording` describes.

- `_row.py`, `_frames.py`, `_summary.py`: the records of a recording as rows, one for each frame
- `_filter.py`: the filter language
- `_validation.py`: where a frame differs from the schema of the negotiated version
- `_sources.py`: recordings and files that can be inspected
- `_text.py`, `_share.py`: rows for a terminal and for programs; a file to share
- `_detail.py`, `_conversation.py`, `_capabilities.py`, `_process.py`: what the page shows of them
- `_app.py`: the application for the browser; its docstring is the reference of the API
- `_library.py`, `_streams.py`, `_serving.py`: its recordings, its event streams, its server
- `page/`: the files of the page
"""
