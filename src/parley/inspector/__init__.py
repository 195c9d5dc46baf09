"""The inspector: recorded connections as rows in a terminal, and as a page in a browser.

`parley inspect` runs it. It reads the recordings that `parley.recording` describes.

- `_frames.py`: the records of a recording as rows, one for each frame
- `_filter.py`: the filter language
- `_app.py`: the application for the browser; its docstring is the reference of the API
"""
