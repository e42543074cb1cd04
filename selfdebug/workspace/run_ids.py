"""How a run is called: by the second in which it began, and a part that no other run of that second has."""

from __future__ import annotations

import re
import time
import uuid

RUN_ID = "[A-Za-z0-9][A-Za-z0-9_-]{0,99}"
"""The pattern of what could be the name of a run's folder and of its git reference."""
_WHOLE = re.compile(RUN_ID)


def is_run_id(text: str) -> bool:
    """Whether a text could be the name of a run's folder and of its git reference."""
    return _WHOLE.fullmatch(text) is not None


def new_run_id(kind: str = "") -> str:
    """A new id, with `kind-` before it where the run is none of the repair loop."""
    began = f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:12]}"
    return f"{kind}-{began}" if kind else began
