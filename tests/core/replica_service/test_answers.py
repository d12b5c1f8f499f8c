"""The answers of the service: rows of `place`, or the code of the first check that fails."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws_placement import check_placement
from rackwise.core.errors import InvalidPlacer
from rackwise.core.model import Broker
from rackwise.core.placement import (
    JavaRandom,
    Kip36,
    Levels,
    Load,
    RackMode,
    Striped,
    Unaware,
    place,
)
from rackwise.core.racks import Rack
from rackwise.core.replica_service.answers import (
    RequestLimits,
    Service,
    answer,
    failure,
    seed_of,
    wait_ms,
)
from rackwise.core.wire.replica_assignment import AssignmentRequest, AssignmentResponse, ErrorCode

BROKERS = tuple(Broker(id=id_, rack=Rack("abc"[id_ % 3])) for id_ in range(6))
SERVICE = Service(brokers=BROKERS, placer=Levels())


def ask(partitions, replication, *, of=SERVICE, seed=5, **fields):
    request = AssignmentRequest(num_partitions=partitions, replication_factor=replication, **fields)
    return answer(of, request, seed)


def rejection(code, message):
    return AssignmentResponse(rows=None, error_code=code, error_message=message)


class TestRows:
    @given(
        partitions=st.integers(1, 40),
        replication=st.integers(1, 6),
        seed=st.integers(0, 2**31 - 1),
        placer=st.sampled_from([Levels(), Kip36(), Striped()]),
    )
    def test_rows_equal_those_of_place_with_the_seed(self, partitions, replication, seed, placer):
        load = Load(replicas={0: 7}, leaders={0: 7})
        found = ask(
            partitions, replication, of=replace(SERVICE, placer=placer, load=load), seed=seed
        )
        wanted = place(
            BROKERS, partitions, replication, placer=placer, load=load, rng=JavaRandom(seed)
        )
        assert found == AssignmentResponse(rows=wanted.rows)

    def test_only_named_brokers_are_used(self):
        rows = ask(12, 2, node_ids=(5, 0, 1)).rows
        assert set(rows.ravel().tolist()) == {0, 1, 5}

    def test_a_simple_assignment_ignores_racks_with_any_placer(self):
        """KIP-879: "use the default rack unaware algorithm of Kafka"."""
        partial = (*BROKERS, Broker(id=6))
        found = ask(8, 3, of=replace(SERVICE, brokers=partial), force_simple_assignment=True)
        wanted = place(partial, 8, 3, placer=Unaware(), racks=RackMode.DISABLED, rng=JavaRandom(5))
        assert found == AssignmentResponse(rows=wanted.rows)

    def test_rows_keep_the_law_of_placements(self):
        rows = place(BROKERS, 9, 3, rng=JavaRandom(5))
        assert np.array_equal(ask(9, 3).rows, rows.rows)
        check_placement(rows, BROKERS, replication=3, racks="aware")


class TestCodes:
    @pytest.mark.parametrize("count", [0, -1, -(2**31)])
    def test_37(self, count):
        assert ask(count, 0, node_ids=(9, 9)) == rejection(
            37, f"invalid partitions: expected at least 1, got {count}"
        )

    def test_38(self):
        assert ask(1, 0, node_ids=(9, 9)) == rejection(
            38, "invalid replication: expected at least 1, got 0"
        )
        more = "use fewer replicas, or name more brokers"
        assert ask(1, 7) == rejection(38, f"replication 7 needs 7 brokers; 6 are available; {more}")
        assert ask(1, 3, node_ids=(0, 1)) == rejection(
            38, f"replication 3 needs 3 brokers; 2 are available; {more}"
        )

    def test_38_excludes_fenced_and_dead_brokers(self):
        brokers = (
            *BROKERS[:4],
            replace(BROKERS[4], is_fenced=True, is_live=False),
            replace(BROKERS[5], is_live=False),
        )
        service = replace(SERVICE, brokers=brokers)
        assert ask(1, 5, of=service).error_code == 38
        assert ask(1, 5, of=service, force_simple_assignment=True).error_code == 38
        striped = replace(service, placer=Striped())
        assert ask(1, 5, of=striped).error_code == 0
        assert ask(1, 5, of=striped, force_simple_assignment=True).error_code == 38

    def test_38_of_a_cluster_without_brokers(self):
        assert ask(1, 1, of=replace(SERVICE, brokers=())).error_code == 38

    def test_39(self):
        assert ask(1, 1, node_ids=(1, 0, 1)) == rejection(
            39, "broker 1 appears twice; name each broker once"
        )
        for id_ in (9, -1):
            assert ask(1, 1, node_ids=(0, id_)) == rejection(
                39,
                f"unknown node id {id_}: no broker of the cluster has it; leave it out, or wait "
                "until the service has read the cluster again",
            )

    @pytest.mark.parametrize(
        ("limits", "noun", "most", "had"),
        [
            (RequestLimits(partitions=5), "partitions", 5, 6),
            (RequestLimits(replication=2), "replicas of a partition", 2, 3),
            (RequestLimits(node_ids=3), "node ids", 3, 4),
            (RequestLimits(replicas=17), "replicas in all", 17, 18),
        ],
    )
    def test_42_over_a_limit(self, limits, noun, most, had):
        service = replace(SERVICE, limits=limits)
        assert ask(6, 3, of=service, node_ids=(0, 1, 2, 3)) == rejection(
            42,
            f"invalid request: expected at most {most} {noun}, got {had}; request less, or start "
            "the service with a higher limit",
        )

    def test_a_request_at_the_limit_is_accepted(self):
        limits = RequestLimits(partitions=6, replication=3, node_ids=4, replicas=18)
        found = ask(6, 3, of=replace(SERVICE, limits=limits), node_ids=(0, 1, 2, 3))
        assert found.error_code == 0

    def test_42_of_partial_racks_and_of_malformed_ones(self):
        partial = replace(SERVICE, brokers=(*BROKERS, Broker(id=6)))
        found = ask(1, 1, of=partial)
        assert (found.error_code, found.rows) == (42, None)
        assert found.error_message.startswith("all brokers must have a rack; 1 of 7 have none: 6")
        malformed = (Broker(id=0, rack=Rack("/a//b")), Broker(id=1, rack=Rack("/a/c")))
        found = ask(1, 1, of=replace(SERVICE, brokers=malformed))
        assert (found.error_code, found.rows) == (42, None)

    def test_an_error_of_the_placer_is_raised(self):
        @dataclass(frozen=True)
        class Broken:
            name: str = "broken"

            def place(self, request):
                assert request.partitions == 1
                raise OSError("secret of the placer")

        with pytest.raises(InvalidPlacer, match="OSError"):
            ask(1, 1, of=replace(SERVICE, placer=Broken()))

    def test_a_failure_has_no_rows(self):
        assert failure(ErrorCode.REQUEST_TIMED_OUT, "late") == rejection(7, "late")


class TestSeedsAndTime:
    def test_the_first_request_has_the_seed_of_the_service(self):
        assert [seed_of(2**40, 0), seed_of(-3, 0)] == [2**40, -3]

    @given(st.integers(-(2**63), 2**63), st.integers(1, 2**20))
    def test_later_seeds_are_valid_and_differ(self, seed, number):
        found = seed_of(seed, number)
        assert 0 <= found < 2**31
        assert found == seed_of(seed, number)
        assert len({seed_of(seed, number + step) for step in range(8)}) == 8

    def test_seeds_are_the_upper_bits_of_splitmix64(self):
        """The first outputs for seed 0, as published with the reference code in C."""
        outputs = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
        assert [seed_of(0, number) for number in (1, 2, 3)] == [each >> 33 for each in outputs]

    def test_neighbouring_seeds_differ_widely(self):
        seeds = [seed_of(1, number) for number in range(1, 2001)]
        bits = np.unpackbits(np.array(seeds, dtype=">u4").view(np.uint8)).reshape(-1, 32)
        assert (np.abs(bits[:, 1:].mean(axis=0) - 0.5) < 0.06).all()

    @pytest.mark.parametrize(
        ("timeout_ms", "most_ms", "wanted"),
        [(-5, 300, 1), (0, 300, 1), (1, 300, 1), (299, 300, 299), (301, 300, 300)],
    )
    def test_a_wait_is_clamped(self, timeout_ms, most_ms, wanted):
        request = AssignmentRequest(num_partitions=1, replication_factor=1, timeout_ms=timeout_ms)
        assert wait_ms(request, most_ms) == wanted

    def test_the_longest_wait_is_five_minutes(self):
        request = AssignmentRequest(num_partitions=1, replication_factor=1, timeout_ms=2**31 - 1)
        assert wait_ms(request) == 300_000
