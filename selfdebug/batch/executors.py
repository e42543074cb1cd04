"""Where jobs are waited for: threads of this process, each beside one local process, or an existing Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from selfdebug.errors import EnvironmentUnusableError, UsageError

_CONNECT_SECONDS = 10


@contextmanager
def executor(jobs: int, scheduler: str | None) -> Iterator[Executor]:
    """Run up to `jobs` calls at a time here, or all on the cluster at `scheduler`; ends with the last of them.

    Raises UsageError where there is no such cluster, EnvironmentUnusableError where Dask is not installed.
    """
    if scheduler is None:
        with ThreadPoolExecutor(jobs) as threads:
            yield threads
    else:
        with _cluster(scheduler) as cluster:
            yield cluster


@contextmanager
def _cluster(scheduler: str) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ImportError as error:
        raise EnvironmentUnusableError(
            f"--scheduler needs Dask, which is not installed here ({error}): pip install 'selfdebug[dask]'."
        ) from error
    try:
        client: Any = Client(  # type: ignore[no-untyped-call]  # Dask has no annotations here
            scheduler, timeout=_CONNECT_SECONDS, set_as_default=False
        )
    except (OSError, ValueError) as error:
        raise UsageError(f"There is no Dask scheduler at {scheduler}: {error or 'no answer'}.") from error
    with client, client.get_executor(pure=False) as cluster:
        yield cluster
