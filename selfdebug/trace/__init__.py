"""The trace of a run: recorded step by step in a store of its own, asked afterwards with eleven read-only queries."""
