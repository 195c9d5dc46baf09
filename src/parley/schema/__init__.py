"""ACP's words as data, one package per version: `schema.v1` and `schema.v2`.

Importing this package imports neither; `from parley.schema import v2` does. What types are made of
is in `base.py`, how they are read and written in `codec.py`.
"""

__all__: list[str] = []
