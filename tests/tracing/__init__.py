"""Tests of the trace: recording, the store, the queries."""
