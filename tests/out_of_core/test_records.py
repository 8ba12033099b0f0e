"""Records of out-of-core stages: declared arrays are those that are written, and before they are read."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest
from hyphc import datasets
from hyphc._runtime.shard_store import ShardStore
from hyphc.fit.flat_cut import FlatCut
from hyphc.out_of_core import sample
from hyphc.out_of_core.labels import labels_stage
from hyphc.out_of_core.records import Leaves, Record
from hyphc.out_of_core.stages import Stage, make_thread_executor, run_stages, stages

from small_jobs import make_job

RECORDS = {record.stage: record for record in Record.__subclasses__()}


def record_of(stage):
    """The record of a stage by its name, which may end with the number of a round or the hash of a cut."""
    return RECORDS.get(stage) or RECORDS[stage.rpartition("-")[0]]


@pytest.fixture(scope="module", params=["auto", "cosine"])
def traffic(request, tmp_path_factory):
    """Of a small fit: for each stage in order, the arrays that it read and those that it wrote, as (stage, name)."""
    X = datasets.planted(600, 6, decay=0.95, random_state=0).data
    job = make_job(X, tmp_path_factory.mktemp("fit") / "store", metric=request.param)
    seen: list[tuple[str, set[tuple[str, str]], set[tuple[str, str]]]] = []
    one, write, count, execute = ShardStore.one, ShardStore.write, Stage.count, make_thread_executor(1)

    def read_array(store, stage, number, name):
        seen[-1][1].add((stage, name))
        return one(store, stage, number, name)

    def write_arrays(store, stage, number, arrays):
        seen[-1][2].update((stage, name) for name in arrays)
        write(store, stage, number, arrays)

    def executed(task, count, stage):
        sample._load_sample.cache_clear()  # what a process has cached, another reads
        seen.append((stage.name, set(), set()))
        execute(task, count, stage)

    def counted(stage, job):
        seen.append(("count", set(), set()))  # the driver reads the number of parts, not a task
        found = count(stage, job)
        seen.pop()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ShardStore, "one", read_array)
        patch.setattr(ShardStore, "write", write_arrays)
        patch.setattr(Stage, "count", counted)
        run_stages(job, executed, labels_stage(FlatCut(None)))
    return job, seen


def test_every_record_names_its_stage():
    assert len(RECORDS) == len(Record.__subclasses__())
    assert all(record.title and record.share > 0 for record in RECORDS.values())
    assert {record.over for record in RECORDS.values()} == {"blocks", "parts", "one"}


def test_stages_of_one_title_follow_each_other(traffic):
    job, _ = traffic
    titles = [stage.title for stage in stages(job)]
    assert len([title for title, _ in groupby(titles)]) == len(set(titles)) == (13 if job.has_edges else 7)


def test_every_array_that_is_read_was_written_by_an_earlier_stage(traffic):
    written: set[tuple[str, str]] = set()
    for stage, read, wrote in traffic[1]:
        assert read - wrote <= written, stage
        written |= wrote


def test_stages_write_what_they_declare(traffic):
    for stage, _, wrote in traffic[1]:
        assert {name for name, _ in wrote} == {stage}
        assert {name for _, name in wrote} <= set(record_of(stage).array_names())


def test_the_stages_that_run_are_those_of_the_job(traffic):
    job, seen = traffic
    assert [stage.name for stage in stages(job)] == [stage for stage, _, _ in seen[:-1]]


def test_every_array_of_a_record_is_written_in_some_fit(traffic):
    job, seen = traffic
    if job.has_edges:
        written = {(record_of(stage), name) for _, _, wrote in seen for stage, name in wrote}
        declared = {(record, name) for record in RECORDS.values() for name in record.array_names()}
        assert declared - written == {(RECORDS["labels"], "clusters")}  # of outliers="label" alone


def test_a_record_returns_what_was_stored_and_no_other_name(tmp_path):
    leaves = Leaves(rows=np.eye(2), sizes=np.ones(2), ids=np.arange(2), leaf=np.arange(2))
    store = ShardStore.open(str(tmp_path), {})
    store.write("leaves-0", 0, leaves.to_arrays())
    loaded = Leaves.load(store, "leaves-0", 0)
    np.testing.assert_array_equal(loaded.rows, leaves.rows)
    with pytest.raises(AttributeError, match="Leaves has no array 'near'"):
        loaded.near  # noqa: B018
