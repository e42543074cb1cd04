"""Patches of many jobs as one: what goes together, what does not, and what a report of it keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from selfdebug.batch import document
from selfdebug.batch.combine import change_of, combined
from selfdebug.batch.merging import merged
from selfdebug.batch.orders import Cause
from selfdebug.batch.plan import jobs_of, share_of
from selfdebug.batch.records import BatchResult, Check, Job, JobResult, JobState, Overlap, ProjectResult, Shard
from selfdebug.batch.schema import batch_schema
from selfdebug.batch.summary import put_together, summed_up
from selfdebug.errors import InputError
from selfdebug.model import EditedFile

SOURCE = b"""\
def name(user):
    return user.name.title()\r


def size(box, \\
        limit):
\treturn len(
\t\tbox.items,
\t\tbox.limit)


def last(rows):
    return rows[-1]"""


def result(number: int, before: bytes, after: bytes, file: str = "a.py") -> JobResult:
    """A job that turned one content of a file into another."""
    job = Job(f"{number:012x}", "shop", (f"tests/test_a.py::test_{number}",), f"AttributeError at {file}:{number}")
    return JobResult(job, JobState.REPAIRED, "repaired", 1.5, changes=(change_of(EditedFile(file, before, after)),))


def edited(old: bytes, new: bytes, source: bytes = SOURCE) -> bytes:
    assert source.count(old) == 1
    return source.replace(old, new)


def test_edits_of_different_statements_go_together_byte_for_byte() -> None:
    first = edited(b"user.name.title()", b'user.name.title() if user is not None else ""')
    second = edited(b"rows[-1]", b"rows[-1] if rows else None")
    files, overlaps = combined([result(1, SOURCE, first), result(2, SOURCE, second)], {"a.py": SOURCE})
    both = edited(b"rows[-1]", b"rows[-1] if rows else None", first)
    assert (files, overlaps) == ((EditedFile("a.py", SOURCE, both),), ())


def test_the_same_edit_of_two_jobs_is_one() -> None:
    after = edited(b"rows[-1]", b"rows[-1] if rows else None")
    files, overlaps = combined([result(1, SOURCE, after), result(2, SOURCE, after)], {"a.py": SOURCE})
    assert (files, overlaps) == ((EditedFile("a.py", SOURCE, after),), ())


def test_two_edits_of_one_statement_on_different_lines_do_not_go_together() -> None:
    first = edited(b"box.items,", b"box.items if box else [],")
    second = edited(b"box.limit)", b"box.limit if box else 0)")
    files, overlaps = combined([result(1, SOURCE, first), result(2, SOURCE, second)], {"a.py": SOURCE})
    assert files == (EditedFile("a.py", SOURCE, first),)
    assert overlaps == (Overlap("a.py", 7, f"{1:012x}", f"{2:012x}"),)


def test_an_inserted_guard_belongs_to_the_statement_that_follows() -> None:
    inserted = edited(b"    return rows[-1]", b"    if rows is None:\n        return None\n    return rows[-1]")
    wrapped = edited(b"rows[-1]", b"rows[-1] if rows else None")
    _, overlaps = combined([result(1, SOURCE, inserted), result(2, SOURCE, wrapped)], {"a.py": SOURCE})
    assert [(each.kept, each.left_out) for each in overlaps] == [(f"{1:012x}", f"{2:012x}")]


def test_a_job_that_meets_another_is_left_out_as_a_whole() -> None:
    other = b"x = y.z\n"
    clash = result(1, SOURCE, edited(b"rows[-1]", b"rows[0]"))
    both = result(2, SOURCE, edited(b"rows[-1]", b"rows[1]"))
    both = replace(both, changes=(*both.changes, change_of(EditedFile("b.py", other, b"x = 1\n"))))
    files, overlaps = combined([clash, both], {"a.py": SOURCE, "b.py": other})
    assert [each.file for each in files] == ["a.py"]
    assert len(overlaps) == 1


@pytest.mark.parametrize("source", [b"def f(:\n  a\n  b\n", b"a\rb\rc\r", b"\xff\xfe\n\n\n"])
def test_what_python_cannot_read_is_combined_by_lines(source: bytes) -> None:
    files, _ = combined([result(1, source, source + b"# more\n")], {"a.py": source})
    assert files == (EditedFile("a.py", source, source + b"# more\n"),)


def test_jobs_have_the_same_ids_everywhere_and_shards_part_them() -> None:
    causes = [Cause((f"t.py::test_{number}", "t.py::test_x"), "") for number in range(10)]
    jobs = jobs_of("shop", causes)
    again = jobs_of("shop", [Cause(tuple(reversed(cause.node_ids)), "other words") for cause in reversed(causes)])
    assert {job.id for job in jobs} == {job.id for job in again}
    assert not {job.id for job in jobs} & {job.id for job in jobs_of("bakery", causes)}
    parts = [share_of(jobs, Shard(index, 3)) for index in (1, 2, 3)]
    assert sorted(map(len, parts)) == [3, 3, 4]
    assert sorted(job.id for part in parts for job in part) == sorted(job.id for job in jobs)
    assert {job.id for job in parts[0]} == {job.id for job in share_of(again, Shard(1, 3))}
    assert share_of(jobs, None) == jobs


# ---------------------------------------------------------------- reports


def batch_of(*results: JobResult, shard: Shard | None = None, planned: tuple[str, ...] = ()) -> BatchResult:
    """A batch that had these results."""
    return summed_up(planned or tuple(each.job.id for each in results), results, (), shard, ())


def originals(source: bytes = SOURCE) -> dict[tuple[str, str], bytes]:
    return {("shop", "a.py"): source}


def written(tmp_path: Path, batch: BatchResult, contents: Mapping[tuple[str, str], bytes]) -> Path:
    """The file of a batch."""
    data = document.document(batch, contents)
    jsonschema.validate(data, json.loads(batch_schema()))
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
    path.write_text(json.dumps(data))
    return path


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    done = replace(result(1, SOURCE, SOURCE + b"\n"), report={"exit_code": 0}, still_failing=("t.py::test_z",), tries=2)
    batch = replace(batch_of(done, shard=Shard(1, 2)), warnings=("careful",), seconds=2.5)
    project = ProjectResult(
        "shop",
        (EditedFile("a.py", SOURCE, SOURCE + b"\n"),),
        (Overlap("a.py", 3, "0" * 12, "1" * 12),),
        Check("It fits.", (), ("t.py::test_z",)),
        "batch-1",
    )
    path = written(tmp_path, replace(batch, projects=(project,)), originals())
    assert document.read(path) == (batch, originals())


def test_merging_shards_gives_one_patch_and_says_what_overlaps(tmp_path: Path) -> None:
    one, two, three = (
        result(1, SOURCE, edited(b"rows[-1]", b"rows[0]")),
        result(2, SOURCE, edited(b"user.name.title()", b"None")),
        result(3, SOURCE, edited(b"rows[-1]", b"rows[1]")),
    )
    planned = tuple(f"{number:012x}" for number in (1, 2, 3))
    files = [
        written(tmp_path, batch_of(one, shard=Shard(1, 2), planned=planned), originals()),
        written(tmp_path, batch_of(two, three, shard=Shard(2, 2), planned=planned), originals()),
    ]
    done, contents = merged([document.read(file) for file in files])
    assert contents == originals()
    assert [each.job.id for each in done.results] == list(planned)
    both = edited(b"rows[-1]", b"rows[0]", edited(b"user.name.title()", b"None"))
    assert done.projects[0].files == (EditedFile("a.py", SOURCE, both),)
    assert [(each.kept, each.left_out) for each in done.projects[0].overlaps] == [(planned[0], planned[2])]
    assert (done.exit_code, done.exit_reason) == (1, "overlap")


def test_a_job_of_several_reports_counts_as_the_best_of_them(tmp_path: Path) -> None:
    good = result(1, SOURCE, edited(b"rows[-1]", b"rows[0]"))
    lost = JobResult(good.job, JobState.LOST, "Lost: its process was ended by signal 9.", 1.0)
    files = [written(tmp_path, batch_of(lost), {}), written(tmp_path, batch_of(good), originals())]
    for order in (files, files[::-1]):
        done, _ = merged([document.read(file) for file in order])
        assert done.results == (good,)
        assert (done.exit_code, done.exit_reason) == (0, "repaired")


def test_a_missing_shard_is_said(tmp_path: Path) -> None:
    good = result(1, SOURCE, edited(b"rows[-1]", b"rows[0]"))
    shard = batch_of(good, shard=Shard(1, 2), planned=(good.job.id, "f" * 12))
    assert shard.exit_code == 0
    done, _ = merged([document.read(written(tmp_path, shard, originals()))])
    assert (done.exit_code, done.exit_reason) == (1, "incomplete")
    assert any("In no report: 1 of 2 jobs" in warning for warning in done.warnings)


def test_shards_that_saw_other_failures_are_named(tmp_path: Path) -> None:
    good = result(1, SOURCE, edited(b"rows[-1]", b"rows[0]"))
    seen = batch_of(good, shard=Shard(1, 2), planned=(good.job.id,))
    other = batch_of(shard=Shard(2, 2), planned=(good.job.id, "f" * 12))
    done, _ = merged([document.read(written(tmp_path, each, originals())) for each in (seen, other)])
    assert any(warning.startswith("Shard 1/2 saw other failures") for warning in done.warnings)


def test_reports_of_different_states_are_not_merged(tmp_path: Path) -> None:
    one = batch_of(result(1, SOURCE, edited(b"rows[-1]", b"rows[0]")))
    files = [written(tmp_path, one, originals()), written(tmp_path, one, originals(SOURCE + b"\n"))]
    with pytest.raises(InputError, match=r"different states of a\.py in shop"):
        merged([document.read(file) for file in files])
    with pytest.raises(InputError, match=r"edits of a\.py without the content"):
        merged([document.read(written(tmp_path, one, originals(SOURCE + b"\n")))])


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "null", '{"schema_version": 2}', '{"schema_version": 1, "shard": 3}', "\0"]
)
def test_a_file_that_is_no_report_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "report.json"
    file.write_text(text)
    with pytest.raises(InputError, match=r"is no report of selfdebug batch --json"):
        document.read(file)
    with pytest.raises(InputError, match=r"Cannot read .*absent"):
        document.read(tmp_path / "absent")


def test_a_batch_is_whole_only_when_its_patches_go_together() -> None:
    good = result(1, SOURCE, edited(b"rows[-1]", b"rows[0]"))
    bad = JobResult(replace(good.job, id="2" * 12), JobState.NOT_REPAIRED, "No candidate made it pass.", 1.0)
    project = put_together("shop", [good], {"a.py": SOURCE})
    broken = replace(project, check=Check("They do not go together.", ("t.py::test_x",)))
    ids = (good.job.id,)
    ends = [
        summed_up(ids, (good,), (project,), None, ()),
        summed_up(ids, (good,), (broken,), None, ()),
        summed_up((*ids, bad.job.id), (good, bad), (project,), None, ()),
        summed_up((bad.job.id,), (bad,), (), None, ()),
        summed_up((), (), (), None, ()),
    ]
    assert [(end.exit_code, end.exit_reason) for end in ends] == [
        (0, "repaired"),
        (1, "overlap"),
        (1, "partial"),
        (1, "not-repaired"),
        (0, "nothing-failed"),
    ]
