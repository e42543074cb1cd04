"""The answers without a model: each kind of question is answered from the facts of the trace, in the first person.

Every claim names the step that it rests on, in brackets; what the trace does not hold is said not to be in it.
"""

from selfdebug.explain.answers.choice import what_tried, why_not_guard, why_patch, why_rolled_back
from selfdebug.explain.answers.ending import how_long, is_it_safe, what_changed
from selfdebug.explain.answers.failure import what_happened, where_from, why_file

__all__ = [
    "how_long",
    "is_it_safe",
    "what_changed",
    "what_happened",
    "what_tried",
    "where_from",
    "why_file",
    "why_not_guard",
    "why_patch",
    "why_rolled_back",
]
