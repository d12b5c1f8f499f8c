"""One cluster has one name, whatever its files are called."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import InvalidSnapshot
from rackwise.pipeline.fleet.cluster_names import name_notes, names_by_text, stem
from rackwise.pipeline.fleet.fleet import histories
from rackwise.pipeline.fleet.snapshots import read_snapshots, with_names
from small_fleets import cluster, parsed


def snapshots(*files):
    """Snapshots from (file, cluster id, name); each is taken a day after the one before it."""
    made = {
        file: replace(cluster(cluster_id=id_, taken_at=f"2026-11-{day:02}T00:00:00Z"), name=name)
        for day, (file, id_, name) in enumerate(files, start=1)
    }
    read, failed = read_snapshots(*parsed(made))
    assert failed == ()
    return read


def names(*files):
    """File -> cluster name."""
    return {one.file: one.name for one in snapshots(*files)}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([("prod.json", "x", None)], ["prod"]),
        ([("s/prod.json.gz", "x", None)], ["prod"]),
        ([("prod.json", None, None)], ["prod"]),
        ([("a.json", "x", "Orders EU")], ["Orders EU"]),
        ([("a.json", None, "Orders EU")], ["Orders EU"]),
        ([("a.json", "x", None), ("b.json", "x", None)], ["x", "x"]),
        ([("p-2026-11-01.json", "x", None), ("p-2026-11-02.json", "x", None)], ["p", "p"]),
        ([("p-2026-11-01.json", None, None), ("p-2026-11-02.json", None, None)], ["p", "p"]),
        ([("eu/2026-11-01.json", "x", None), ("eu/2026-11-02.json", "x", None)], ["eu", "eu"]),
        ([("eu/1.json", "x", None), ("eu/2.json", "x", None)], ["eu", "eu"]),
        ([("s/2026-11-01.json", "x", None), ("s/2026-11-02.json", "y", None)], ["x", "y"]),
        ([("eu/now.json", "x", None), ("us/now.json", "y", None)], ["eu", "us"]),
        ([("a/s/1.json", "x", None), ("b/s/1.json", "y", None)], ["x", "y"]),
        ([("eu.json", "x", None), ("eu/20261101.json", "y", None)], ["x", "y"]),
        ([("20261101.json", "x", None)], ["x"]),
        ([("20261101.json", None, None)], ["20261101"]),
        ([("a.json", "x", "old"), ("b.json", "x", "new")], ["new", "new"]),
        ([("a.json", "x", "kept"), ("b.json", "x", None)], ["kept", "kept"]),
    ],
)
def test_the_name_of_each_cluster(files, expected):
    found = names(*files)
    assert [found[file] for file, _, _ in files] == expected


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("prod.json", "prod"),
        ("prod-2026-11-01.json", "prod"),
        ("prod_20261101.json.gz", "prod"),
        ("prod.2026-11-01T06-00-00Z.json", "prod"),
        ("2026-11-01T0600Z-prod.json", "prod"),
        ("prod-1795219200.json", "prod"),
        ("prod-2026-11-01-eu.json", "prod-eu"),
        ("2026-11-01.json", ""),
        ("1795219200000.json", ""),
        ("orders-2.json", "orders-2"),
        ("cluster-001.json", "cluster-001"),
        ("v20261399.json", "v20261399"),
    ],
)
def test_dates_and_times_are_no_part_of_a_name(file, expected):
    assert stem(f"folder/{file}") == expected


FILES = st.builds(
    "{}{}.json".format,
    st.sampled_from(["", "eu/", "us/", "all/eu/"]),
    st.sampled_from(["a", "b", "x", "2026-11-01", "2026-11-02", "a-2026-11-03"]),
)


@given(st.dictionaries(FILES, st.sampled_from("xyz"), min_size=1, max_size=8), st.randoms())
def test_a_cluster_with_an_id_has_one_name_and_no_other_has_it(files, rng):
    """Law: clusters with ids and without given names never share a name, in any order of files."""
    read = list(snapshots(*((file, id_, None) for file, id_ in files.items())))
    by_id = {}
    for one in read:
        by_id.setdefault(one.cluster.cluster_id, set()).add(one.name)
    assert all(len(found) == 1 for found in by_id.values())
    assert len({name for (name,) in by_id.values()}) == len(by_id)
    rng.shuffle(read)
    again = with_names(read)
    assert {one.file: one.name for one in again} == {one.file: one.name for one in read}
    histories(again)


def test_two_clusters_with_one_name_are_rejected():
    read = snapshots(("a.json", "x", "prod"), ("b.json", "y", "prod"))
    with pytest.raises(InvalidSnapshot, match="expected one cluster id for the name prod") as error:
        histories(read)
    assert "rackwise snapshot --name" in error.value.hint


def test_a_changed_name_is_told():
    files = [("a.json", "x", "old"), ("b.json", "x", "older"), ("c.json", "x", "new")]
    assert name_notes(snapshots(*files)) == [
        (
            "new: earlier snapshots have another name: old, older; the name of the last "
            "snapshot is "
            "used"
        )
    ]
    assert name_notes(snapshots(("a.json", "x", "same"), ("b.json", "x", "same"))) == []
    assert name_notes(snapshots(("a.json", "x", None))) == []


def test_other_inputs_may_use_the_name_or_the_id():
    read = snapshots(("prod.json", "x", None), ("x.json", "y", None))
    assert names_by_text(read) == {"prod": "prod", "x": "prod", "y": "y"}
    read = snapshots(("prod.json", "x", None), ("b.json", "y", "x"))
    assert names_by_text(read) == {"prod": "prod", "x": "x", "y": "x"}
