import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core import view as view_module
from rackwise.core.model import Ragged
from rackwise.core.policy import BrokerPolicy, Policy, TopicBlock
from rackwise.core.view import View, blocks, distinct, firsts, id_texts, matches
from small_clusters import small_cluster

ROWS = st.lists(
    st.tuples(st.integers(-1, 3), st.integers(0, 2**31 - 1), st.integers(5, 6)), min_size=1
)


class TestDistinct:
    def check(self, rows):
        columns = list(np.array(rows, dtype=np.int64).T)
        code, example = distinct(columns)
        assert [rows[i] for i in example[code].tolist()] == rows
        assert [rows[i] for i in example.tolist()] == sorted(set(rows))

    @given(ROWS)
    def test_equal_rows_get_equal_rising_codes(self, rows):
        self.check(rows)

    @given(ROWS)
    def test_table_size_does_not_change_codes(self, rows):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(view_module, "_TABLE_SIZE", 1)
            self.check(rows)


class TestBlocks:
    @given(st.lists(st.lists(st.integers(0, 9), max_size=3)), st.data())
    def test_every_row_once_with_rows_of_its_length(self, lists, data):
        ragged = Ragged.of(lists)
        other = Ragged.of([[0] * (len(row) % 2) for row in lists])
        chosen = [i for i in range(len(lists)) if data.draw(st.booleans())]
        seen = {}
        for rows, (index, other_index) in blocks(ragged, other, rows=np.array(chosen, dtype=int)):
            for row, values, others in zip(rows, ragged.values[index], other_index, strict=True):
                seen[int(row)] = values.tolist()
                assert len(others) == len(lists[row]) % 2
        assert seen == {i: lists[i] for i in chosen}

    def test_all_rows_by_default(self):
        ((rows, (index,)),) = blocks(Ragged.of([[4, 5], [6, 7]]))
        assert rows.tolist() == [0, 1]
        assert index.tolist() == [[0, 1], [2, 3]]

    def test_no_rows_have_no_blocks(self):
        assert list(blocks(Ragged.of([]))) == []


def test_matches_and_firsts():
    codes = np.array([[3, 3, 5], [-1, -1, 2]])
    same = matches(codes)
    assert same.sum(axis=2).tolist() == [[2, 2, 1], [0, 0, 1]]
    assert firsts(same).tolist() == [[True, False, True], [False, False, True]]


def test_id_texts_are_sorted_and_shared_by_equal_rows():
    code, texts = id_texts(Ragged.of([[3, 1], [], [1, 3], [20]]))
    assert [texts[i] for i in code.tolist()] == ["1, 3", "none", "1, 3", "20"]
    assert len(texts) == 3


class TestView:
    cluster = small_cluster(
        {1: "a", 2: "a", 5: "b", 7: None},
        {"t-0": [1, 5, 9], "t-1": [7], "u-0": [2, 1]},
        dead=[2],
        adding={"t-1": [7]},
        isr={"t-0": [1, 9, 5], "u-0": [2]},
    )
    view = View(
        cluster,
        Policy(
            brokers=BrokerPolicy(drain=(5,)),
            topics=(TopicBlock(match=("u",), replication=2), TopicBlock(match=("v",))),
        ),
    )

    def test_by_place(self):
        assert self.view.live.tolist() == [True, False, True, True, False]
        assert self.view.drained.tolist() == [False, False, True, False, False]
        assert self.view.usable.tolist() == [True, False, False, True, False]

    def test_by_row(self):
        assert self.view.preferred.tolist() == [1, -1, 2]
        assert self.view.in_sync.tolist() == [2, 1, 0]
        assert self.view.min_isr.tolist() == [1, 1, 1]
        assert [self.view.rules[i].replication for i in self.view.row_rules] == [None, None, 2]

    def test_usable_brokers_below_each_rack(self):
        assert self.view.usable_below(0).tolist() == [1, 0]

    def test_rack_patterns_have_racks_and_unusable_brokers(self):
        found = [
            (block.rows.tolist(), block.nodes.tolist(), block.unusable.tolist())
            for block in self.view.rack_patterns
        ]
        assert found == [
            ([0], [[-1, 0, 1]], [[False, False, True]]),
            ([2], [[0, 0]], [[False, True]]),
        ]
