"""How a run is called: by the second in which it began, and a part that no other run of that second has."""

from __future__ import annotations

import time
import uuid


def new_run_id(kind: str = "") -> str:
    """A new id, with `kind-` before it where the run is none of the repair loop."""
    began = f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:12]}"
    return f"{kind}-{began}" if kind else began
