"""Tests of what runs inside the tests and around them; a package, so that its `conftest` is told from others."""
