"""Tests of the user's files; a package, so that its `conftest` is told from those of other folders."""
