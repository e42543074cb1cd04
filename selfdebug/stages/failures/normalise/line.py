"""The unit that the forms read."""

from __future__ import annotations

from typing import TypeAlias

Line: TypeAlias = tuple[str, str]
"""The stream that a line belongs to (the writers that a log interleaves), and its text without end and prefix."""
