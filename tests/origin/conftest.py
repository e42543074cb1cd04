"""The chains of a module's table of programs, followed once for all its tests."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from selfdebug.model import Link


@pytest.fixture(scope="module")
def followed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sequence[Link]]:
    """The chain of each program in the `TABLE` of the test's module, by name."""
    found: dict[str, Sequence[Link]] = request.module.TABLE.followed(tmp_path_factory.mktemp("programs"))
    return found
