"""The eleven queries: one definition each, served on the command line, over MCP and to the delegate."""

from __future__ import annotations

from selfdebug.trace.queries import inner, nodes, overview, slices
from selfdebug.trace.queries.base import Answer, Parameter, Query

__all__ = ["QUERIES", "Answer", "Parameter", "Query"]

_ORDER = (
    "run_overview",
    "find_context_errors",
    "find_in_trace",
    "trace_node",
    "trace_slice",
    "backtrack",
    "who_wrote",
    "get_value",
    "inspect_tool_call",
    "inspect_tool_run",
    "read_narrative",
)
_defined = {query.name: query for module in (overview, nodes, slices, inner) for query in module.QUERIES}

QUERIES: dict[str, Query] = {name: _defined[name] for name in _ORDER}
"""All queries by name, in the order in which they are listed."""
