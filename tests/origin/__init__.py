"""Tests of the chains of values; a package, so that its `conftest` is told from those of other folders."""
