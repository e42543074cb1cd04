"""Measurements of selfdebug: scripts that print a table, not tests."""
