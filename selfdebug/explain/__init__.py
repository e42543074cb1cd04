"""Explaining a run: answers with step ids, the skill that teaches how to ask, the MCP server, the delegate."""
