"""How every JSON document of this package is written."""

from __future__ import annotations

import json


def dumps(data: object) -> bytes:
    """The document as ASCII: it survives every locale, and a lone surrogate of a strange file name stays an escape.

    Raises ValueError for a number that JSON does not have (NaN, infinity).
    """
    return json.dumps(data, indent=2, allow_nan=False).encode("ascii") + b"\n"
