"""The finished jobs of a batch that has not come to its end, in the state folder of their project."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from selfdebug.batch.document import job_document, job_result, packed_originals, read_originals
from selfdebug.batch.records import JobResult
from selfdebug.config import Settings
from selfdebug.reports.documents import dumps
from selfdebug.workspace import Workspace
from selfdebug.workspace.folder import Folder
from selfdebug.workspace.project import explained
from selfdebug.workspace.state import made, opened

_FOLDER = "batch"
Finished = tuple[JobResult, Mapping[str, bytes]]
"""A result, and the former bytes of the files that it changed."""


def fingerprint(digest: str, settings: Settings) -> str:
    """What a result depends on: the content of the project and the settings of the run."""
    options = [
        settings.max_attempts,
        settings.max_candidates,
        settings.timeout,
        settings.memory_limit,
        settings.include_tests,
        settings.keep_partial,
        settings.pytest_args,
        str(settings.python),
    ]
    return sha256(json.dumps([digest, options]).encode()).hexdigest()


class Ledger:
    """What is kept for the project at `root`, as long as its fingerprint stays the same. Raises WorkspaceError."""

    def __init__(self, root: Path, mark: str) -> None:
        workspace = Workspace.open(root)
        self._root, self._state_dir, self._mark = workspace.root, workspace.state_dir, mark

    def finished(self) -> dict[str, Finished]:
        """The finished jobs by id; what is damaged or belongs to another state of the project is left out."""
        with explained("The finished jobs cannot be read"), self._opened() as folder:
            texts = [folder.read(name).data for name in folder.names()] if folder is not None else []
        return {read[0].job.id: read for text in texts if (read := self._read(text)) is not None}

    def _read(self, data: bytes) -> Finished | None:
        try:
            values = json.loads(data)
            if values["fingerprint"] != self._mark:
                return None
            originals = read_originals(values["originals"])
            return job_result(values["job"]), {file: content for (_, file), content in originals.items()}
        except (ValueError, KeyError, TypeError):
            return None

    def save(self, result: JobResult, originals: Mapping[str, bytes]) -> None:
        """Keep the result of a finished job."""
        project = result.job.project
        document = {
            "fingerprint": self._mark,
            "job": job_document(result),
            "originals": packed_originals({(project, file): data for file, data in originals.items()}),
        }
        with (
            explained("The finished job cannot be kept"),
            made(self._root, self._state_dir) as state,
            state.enter(_FOLDER, create=True) as folder,
        ):
            folder.publish(f"{result.job.id}.json", dumps(document))

    def clear(self) -> None:
        """Forget all of them: the batch has ended."""
        with explained("The finished jobs cannot be removed"), self._opened() as folder:
            if folder is not None:
                for name in folder.names():
                    folder.remove(name)
                with opened(self._root, self._state_dir) as state:
                    if state is not None:
                        state.remove_folder(_FOLDER)

    @contextmanager
    def _opened(self) -> Iterator[Folder | None]:
        with opened(self._root, self._state_dir) as state:
            if state is None or state.stat(_FOLDER) is None:
                yield None
            else:
                with state.enter(_FOLDER) as folder:
                    yield folder
