"""The stages of a run, in their order: failures, locate, observe, origin, diagnose, propose, validate, vary.

Each takes records and returns records; none imports another. `selfdebug.repair` calls them and nothing else does.
"""
