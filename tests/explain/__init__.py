"""Tests of what explains a run: answers, the skill, the MCP server, the delegate."""
