"""`rackwise consumer evaluate`: what it says of groups, how it ends, what it refuses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

import pytest

from consumer_snapshots import cluster, document, eighty_five, group, limited, member, said
from rackwise.cli.consumer.checks import warn_of_added_racks
from rackwise.cli.consumer.outlook import PricedOutcome
from rackwise.cli.consumer.text import _outcome
from rackwise.cli.shell import Shell
from rackwise.core.assignors.measure.migration import ServerOutcome
from rackwise.core.model import GroupMember, Note, Partition, PartitionTable, Topic
from rackwise.core.racks import Rack
from rackwise.core.savings.read_cost import ReadCost

HEADLINE = (
    "billing  classic range  6 members  60 partitions  local 51 (85 %)  best 60 (100 %)  "
    "9 moves to get there\n"
)


@pytest.fixture
def call(tmp_path):
    return partial(said, tmp_path)


class TestEvaluate:
    def test_a_better_assignment_exists(self, call):
        code, out, err = call("evaluate", eighty_five())
        assert (code, err) == (2, "")
        assert out == HEADLINE + (
            "  rack      members  local  cross  unknown\n"
            "  use1-az1        2     17      3        0\n"
            "  use1-az2        2     17      3        0\n"
            "  use1-az3        2     17      3        0\n"
            "  busiest broker 1: 20 of 60 partitions\n"
            "  moved to the consumer protocol, uniform: local 20 on average (33 %); "
            "this group would lose 60 % of its local reads, cost unknown\n"
            "  moved to the consumer protocol, range: local 20 on average (33 %); "
            "this group would lose 60 % of its local reads, cost unknown\n"
            "  cost unknown: no traffic is known: give --weights CSV\n"
        )

    def test_nothing_better_exists_and_what_limits_it(self, call):
        code, out, err = call("evaluate", limited("rack-optimal"))
        assert (code, err) == (0, "")
        assert out.splitlines()[0] == (
            "billing  classic rack-optimal  5 members  15 partitions  local 9 (60 %)  best 9 (60 %)"
        )
        assert out.splitlines()[-4] == (
            "  limited by use1-az1: 9 partitions have replicas only there, "
            "1 member can hold 3; 4 more members there would be enough"
        )

    def test_a_rack_without_members_limits(self, call):
        dealt = group(member("m", "use1-az1", [0, 2]), member("n", "use1-az2", [1]))
        code, out, _ = call("evaluate", cluster([1, 2, 3], dealt))
        assert code == 0
        assert "local 2 (66 %)  best 2 (66 %)\n" in out
        assert (
            "\n  limited by use1-az3: 1 partition has replicas only there, no member is there\n"
            in out
        )

    def test_nothing_is_limited_where_all_can_be_local(self, call):
        assert "can be local" not in call("evaluate", eighty_five())[1]

    def test_the_assignment_it_names_is_then_the_best(self, call, tmp_path):
        out = tmp_path / "who.json"
        terms = ["--assignor", "rack-optimal", "--out", str(out)]
        assert call("simulate", eighty_five(), *terms)[0] == 0
        (told,) = document(out.read_text())["groups"]
        members = told["assignors"][0]["members"]
        before = eighty_five()
        (had,) = before.groups
        now = [
            replace(
                each, partitions=tuple(("orders", n) for n in members[each.member_id]["orders"])
            )
            for each in had.members
        ]
        after = replace(before, groups=(replace(had, members=tuple(now), assignor="rack-optimal"),))
        code, text, _ = call("evaluate", after)
        assert code == 0
        assert "local 60 (100 %)  best 60 (100 %)\n" in text

    def test_one_document(self, call):
        code, out, err = call("evaluate", limited(), "--json")
        assert (code, err) == (0, "")
        told = document(out)
        (found,) = told["groups"]
        assert told["format"] == "rackwise.consumer-evaluation/1"
        assert (told["cluster_id"], told["target"], told["balance"]) == (
            "demo",
            "follower",
            "total",
        )
        assert (told["left_out"], told["notes"]) == ([], [])
        assert {key: found[key] for key in ("group", "protocol", "assignor", "state")} == {
            "group": "billing",
            "protocol": "classic",
            "assignor": "range",
            "state": "Stable",
        }
        assert (found["local"], found["local_share"], found["best_local"]) == (9, 0.6, 9)
        assert (found["is_better"], found["best"]["moves"]) == (False, 0)
        assert found["by_rack"][0] == {
            "rack": "use1-az1",
            "members": 1,
            "local": 3,
            "cross": 0,
            "unknown": 0,
        }
        assert found["by_member"][1] == {
            "member_id": "m1",
            "rack": "use1-az2",
            "local": 2,
            "cross": 1,
            "unknown": 0,
        }
        assert found["by_broker"][0] == {
            "id": 1,
            "partitions": 9,
            "bytes_per_s": None,
            "cross": 6,
        }
        assert found["explanation"]["bottleneck"] == ["use1-az1"]
        assert found["explanation"]["members_to_add"] == 4
        assert found["skipped"] == {
            "topics": [],
            "assigned": [],
            "unlisted": [],
            "unassigned": [],
            "unweighted": [],
        }

    def test_unassigned_partitions_count_in_the_share(self, call):
        value = cluster(
            [1, 2, 3, 1], group(member("m", "use1-az1", [0]), member("n", "use1-az2", [1]))
        )
        code, out, _ = call("evaluate", value)
        assert code == 2
        assert out.splitlines()[0] == (
            "billing  classic range  2 members  4 partitions  local 2 (50 %)  best 3 (75 %)  "
            "2 unassigned  0 moves to get there"
        )
        (found,) = document(call("evaluate", value, "--json")[1])["groups"]
        assert (found["partitions"], found["unassigned"], found["local_share"]) == (4, 2, 0.5)
        assert call("simulate", value)[1].splitlines()[0].endswith("  2 unassigned")

    def test_levels_now_and_at_best(self, call):
        value = cluster(
            [1, 1, 1, 3, 2, 2],
            group(member("m", "/e/a", [0, 1, 2]), member("n", "/w/b", [3, 4, 5])),
        )
        racks = {1: "/e/z", 2: "/e/a", 3: "/w/b"}
        brokers = (replace(each, rack=Rack(racks[each.id])) for each in value.brokers)
        value = replace(value, brokers=tuple(brokers))
        code, out, _ = call("evaluate", value)
        assert code == 2
        assert "  crosses level1: 2 partitions, best 2\n" in out
        assert "  crosses level2: 5 partitions, best 3\n" in out

    def test_levels_and_the_nearest_replica(self, call):
        code, out, _ = call("evaluate", eighty_five(), "--target", "nearest")
        assert code == 2
        assert "busiest" not in out

    def test_several_groups(self, call):
        both = eighty_five()
        other = group(member("x", "use1-az1", range(60)), name="audit")
        code, out, _ = call("evaluate", replace(both, groups=(other, *both.groups)))
        assert code == 2
        assert [part.split()[0] for part in out.split("\n\n")] == ["audit", "billing"]
        code, out, _ = call("evaluate", replace(both, groups=(other,)), "--group", "audit")
        assert code == 0
        assert "1 member  60 partitions  local 20 (33 %)  best 20 (33 %)\n" in out


class TestOutlook:
    """KIP-848: what a group loses with Kafka's own assignors on the broker, and what that costs."""

    @pytest.fixture
    def rates(self, tmp_path):
        rows = [f"orders,{number},1000000" for number in range(60)]
        path = tmp_path / "rates.csv"
        path.write_text("\n".join(["topic,partition,bytes_per_s", *rows]))
        return ["--weights", path]

    def test_dollars_are_known_with_traffic_and_a_price(self, call, rates):
        """31 partitions more cross zones: 31 MB/s for 30 days at 0.02 dollars per GiB."""
        _, out, err = call("evaluate", eighty_five(), *rates, "--provider", "aws")
        assert err == ""
        assert out.endswith(
            "  moved to the consumer protocol, uniform: local 20 on average (33 %); "
            "this group would lose 60 % of its local reads, +$1,496.67 per 30 days\n"
            "  moved to the consumer protocol, range: local 20 on average (33 %); "
            "this group would lose 60 % of its local reads, +$1,496.67 per 30 days\n"
        )

    def test_without_a_price_the_cost_is_unknown_and_says_what_to_give(self, call, rates):
        _, out, _ = call("evaluate", eighty_five(), *rates)
        assert out.endswith("\n  cost unknown: no price is known: give --provider NAME\n")

    def test_a_group_that_would_read_more_locally(self, call, rates):
        value = cluster([1, 2], group(member("m", "use1-az1", [1]), member("n", "use1-az2", [0])))
        _, out, _ = call("evaluate", value)
        assert "uniform: local 1 on average (50 %); this group would lose nothing, as" in out
        both = cluster(
            [1, 2, 1],
            group(member("m", "use1-az1", [1, 2]), member("n", "use1-az2", [0])),
        )
        path = rates[1]
        path.write_text("topic,partition,bytes_per_s\norders,0,8\norders,1,8\norders,2,1000000\n")
        worse = call("evaluate", both, *rates, "--provider", "aws")[1]
        assert "this group would lose 49 % of its local reads, +$24.14 per 30 days" in worse
        path.write_text("topic,partition,bytes_per_s\norders,0,9000000\norders,1,8\norders,2,1\n")
        better = call("evaluate", both, *rates, "--provider", "aws")[1]
        assert "this group would lose no local reads, -$217.26 per 30 days" in better

    def test_a_small_loss_is_not_shown_as_none(self):
        outcome = ServerOutcome(
            assignor="uniform",
            readers={("orders", 0): ("m", "n")},
            partitions=300,
            local=Fraction(599, 2),
            lost_share=Fraction(1, 600),
        )
        cost = ReadCost(nano=None, reason="no price")
        told = _outcome(PricedOutcome(outcome=outcome, extra=cost), is_on_server=False)
        assert "local 299.5 on average (99 %)" in told
        assert "lose less than 1 % of its local reads" in told

    def test_members_without_rack_are_no_zero(self, call):
        value = cluster([1, 2], group(member("m", "use1-az1", [0]), member("n", None, [1])))
        _, out, _ = call("evaluate", value)
        assert out.endswith(
            "  moved to the consumer protocol, range: unknown: "
            "give --rack or --client-rack for members without rack\n"
        )
        (told,) = document(call("evaluate", value, "--json")[1])["groups"]
        assert [each["local"] for each in told["server_assignors"]] == [None, None]

    def test_a_rack_of_an_odd_form_has_no_known_cost(self, call, rates):
        value = eighty_five()
        odd = replace(value.brokers[0], rack=Rack("/eu//a"))
        value = replace(value, brokers=(odd, *value.brokers[1:]))
        _, out, _ = call("evaluate", value, *rates, "--provider", "aws")
        assert "this group would lose 60 % of its local reads, cost unknown" in out
        assert "  cost unknown: " in out.splitlines()[-1]
        assert "/eu//a" in out.splitlines()[-1]

    def test_levels_are_priced_by_their_names(self, call, tmp_path):
        """A region costs another price than a zone; without names the price is not known."""
        value = cluster([1, 2], group(member("m", "/eu/a", [0]), member("n", "/us/b", [1])))
        named = {1: "/eu/a", 2: "/us/b", 3: "/us/c"}
        value = replace(
            value,
            brokers=tuple(replace(each, rack=Rack(named[each.id])) for each in value.brokers),
        )
        path = tmp_path / "r.csv"
        path.write_text("topic,partition,bytes_per_s\norders,0,1000000\norders,1,1000000\n")
        options = ["--weights", path, "--provider", "aws"]
        _, out, _ = call("evaluate", value, *options, "--levels", "region,zone")
        assert "this group would lose 50 % of its local reads, +$" in out
        code, out, err = call("evaluate", value, *options)
        assert (code, out) == (1, "")
        assert "expected names of 2 rack levels to price them" in err

    def test_a_group_of_the_consumer_protocol_after_a_restart(self, call):
        value = eighty_five()
        modern = replace(value.groups[0], protocol="consumer", assignor="uniform")
        _, out, _ = call("evaluate", replace(value, groups=(modern,)))
        assert out.endswith(
            "  all its members restarted, uniform: local 20 on average (33 %)\n"
            "  all its members restarted, range: local 20 on average (33 %)\n"
        )

    def test_range_is_certain_for_static_members(self, call):
        """By instance ids range gives each member the partitions of another rack."""
        value = cluster(
            [1, 1, 2, 2],
            group(
                member("m", "use1-az1", [0, 1], instance_id="z"),
                member("n", "use1-az2", [2, 3], instance_id="a"),
            ),
        )
        _, out, _ = call("evaluate", value)
        assert "range: local 0 (0 %); this group would lose 100 % of its local reads" in out
        assert "uniform: local 2 on average (50 %)" in out

    def test_one_document(self, call, rates):
        (told,) = document(call("evaluate", eighty_five(), "--json", *rates)[1])["groups"]
        assert told["server_assignors"][0] == {
            "assignor": "uniform",
            "partitions": 60,
            "local": 20.0,
            "is_average": True,
            "lost_local_share": 0.607843,
            "extra_usd_nano_per_month": None,
            "cost_unknown": "no price is known: give --provider NAME",
        }

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--prices", "p.csv"], "--prices requires --provider"),
            (["--levels", "zone"], "--levels requires --provider"),
            (
                ["--levels", "zone,zone", "--provider", "aws"],
                "invalid --levels: expected different",
            ),
            (["--provider", "none"], 'expected prices of provider "none"'),
        ],
    )
    def test_options_of_prices_that_do_not_fit(self, call, options, message):
        code, out, err = call("evaluate", eighty_five(), *options)
        assert (code, out) == (1, "")
        assert err.startswith(f"error: {message}")


class TestWeights:
    def weights(self, tmp_path, *rows):
        path = tmp_path / "w.csv"
        path.write_text("\n".join(["topic,partition,bytes_per_s", *rows]))
        return ["--weights", str(path)]

    def value(self):
        return cluster([1, 1], group(member("m", "use1-az1", [0]), member("n", "use1-az2", [1])))

    def test_bytes_decide(self, call, tmp_path):
        heavy = self.weights(tmp_path, "orders,0,1024", "orders,1,2048")
        code, out, err = call("evaluate", self.value(), *heavy)
        assert (code, err) == (2, "")
        assert "local 1 (50 %)  best 1 (50 %)  2 moves to get there\n" in out
        assert "  crosses zone: 1 partition, 2.00 KiB/s, best 1.00 KiB/s\n" in out
        light = self.weights(tmp_path, "orders,0,2048", "orders,1,1024")
        assert call("evaluate", self.value(), *light)[0] == 0

    def test_partitions_without_a_weight_and_unknown_partitions(self, call, tmp_path):
        some = self.weights(tmp_path, "orders,0,5")
        _, _, err = call("evaluate", self.value(), *some)
        assert err == (
            "warning: billing: 1 partition has no weight, counted as 0 bytes/s: orders-1\n"
        )
        for row, message in (
            ("gone,0,5", 'topic: expected a topic of the cluster, got "gone"'),
            ("orders,2,5", 'partition: expected a partition from 0 to 1, got "2"'),
        ):
            more = self.weights(tmp_path, "orders,0,5", row)
            code, out, err = call("evaluate", self.value(), *more)
            assert (code, out) == (1, "")
            assert err.startswith(f"error: invalid {more[1]}:3: {message}\n")

    def test_no_weight_above_zero(self, call, tmp_path):
        path = tmp_path / "w.csv"
        for rows, message in (
            ((), "expected at least one row, got none"),
            (
                ("orders,0,0", "other,0,7"),
                "expected a weight above 0 for the topics of billing, got none",
            ),
        ):
            options = self.weights(tmp_path, *rows)
            code, out, err = call("evaluate", self.with_other(), "--group", "billing", *options)
            assert (code, out) == (1, "")
            assert err.startswith(f"error: invalid {path}: {message}\nhint: ")

    def test_no_weight_above_zero_in_one_of_two_groups(self, call, tmp_path):
        options = self.weights(tmp_path, "other,0,7")
        code, out, err = call("evaluate", self.with_other(), *options)
        assert (code, out.count("  best ")) == (0, 2)
        assert err.startswith("warning: billing: none of its partitions has a weight above 0\n")

    def with_other(self):
        """A second group with a topic of its own."""
        value = self.value()
        row = Partition(topic="other", partition=0, replicas=(1,), leader=1, isr=(1,))
        reader = GroupMember(
            member_id="o",
            client_id="o",
            rack=Rack("use1-az1"),
            topics=("other",),
            partitions=(("other", 0),),
        )
        return replace(
            value,
            topics={**value.topics, "other": Topic(name="other")},
            partitions=PartitionTable.of([*value.partitions, row]),
            groups=(*value.groups, group(reader, name="second")),
        )

    def test_an_invalid_table_is_rejected(self, call, tmp_path):
        code, out, err = call("evaluate", self.value(), *self.weights(tmp_path, "orders,0,1.5"))
        assert (code, out) == (1, "")
        assert 'w.csv:2: bytes_per_s: expected integer bytes_per_s >= 0, got "1.5"' in err


class TestRacksOfMembers:
    def value(self):
        return cluster(
            [1, 2, 3],
            group(
                member("m", None, [1], client_id="app-a"),
                member("n", None, [0], client_id="app-b"),
                member("o", None, [2], client_id="other"),
            ),
        )

    def test_members_without_rack_are_unknown(self, call):
        code, out, err = call("evaluate", self.value())
        assert code == 0
        assert out.splitlines()[0].endswith("  3 partitions  local 0 (0 %)  best unknown")
        assert "  (no rack)        3      0      0        3\n" in out
        assert err == (
            "warning: billing: the rack is unknown of 3 members: m, n, o; "
            "give --rack MEMBER=RACK or --client-rack GLOB=RACK\n"
        )

    def test_the_document_has_null_for_an_unknown_best_assignment(self, call):
        code, out, _ = call("evaluate", self.value(), "--json")
        (found,) = document(out)["groups"]
        assert code == 0
        unknown = ("best_local", "best", "is_better", "explanation")
        assert [found[name] for name in unknown] == [None] * 4
        assert found["members_without_rack"] == ["m", "n", "o"]

    def test_they_are_told(self, call):
        told = ["--rack", "m=use1-az1", "--client-rack", "app-*=use1-az2"]
        told += ["--client-rack", "*=use1-az3"]
        code, out, err = call("evaluate", self.value(), *told)
        assert (code, err) == (2, "")
        assert "local 1 (33 %)  best 3 (100 %)  2 moves to get there\n" in out

    @pytest.mark.parametrize(
        ("option", "text", "message"),
        [
            ("--rack", "m", "invalid --rack: expected MEMBER=RACK, got m"),
            ("--client-rack", "=a", "invalid --client-rack: expected GLOB=RACK, got =a"),
            (
                "--rack",
                ("m=a", "m=b"),
                "invalid --rack: expected one rack for member m, got a and b",
            ),
            ("--rack", "x=a", "invalid --rack: expected a member of these groups, got x"),
        ],
    )
    def test_an_invalid_rack_of_a_member_is_rejected(self, call, option, text, message):
        texts = [text] if isinstance(text, str) else text
        options = [word for each in texts for word in (option, each)]
        code, out, err = call("evaluate", self.value(), *options)
        assert (code, out) == (1, "")
        assert err.startswith(f"error: {message}\nhint: ")

    def test_racks_that_no_broker_has(self, call):
        strange = member("p", "us-east-1a", [], client_id="far")
        value = self.value()
        value = replace(value, groups=(group(*value.groups[0].members, strange),))
        told = ["--rack", "m=zzz", "--rack", "m=zzz", "--client-rack", "app-*=use1-az2"]
        told += ["--client-rack", "other=use1-az3", "--client-rack", "far=use1-az1"]
        _, _, err = call("evaluate", value, *told)
        assert err == (
            "warning: billing: 2 members in racks without a broker: us-east-1a, zzz "
            "(racks of brokers: use1-az1, use1-az2, use1-az3)\n"
            "warning: --client-rack far=use1-az1 matches no member without a rack\n"
        )

    def test_members_to_add_in_racks_that_no_broker_has(self, capsys):
        value = replace(self.value(), brokers=())
        warn_of_added_racks(Shell(), value, {"zzz": 2, "never": 0})
        assert capsys.readouterr().err == (
            "warning: --add: 2 members in racks without a broker: zzz (racks of brokers: none)\n"
        )
        warn_of_added_racks(Shell(), self.value(), {"use1-az1": 2})
        assert capsys.readouterr().err == ""


class TestGroupsThatCannotBeJudged:
    def test_they_are_left_out_and_named(self, call):
        value = eighty_five()
        others = (
            group(name="empty", state="Empty"),
            group(member("x", None, []), name="moving", state="PreparingRebalance"),
        )
        value = replace(value, groups=(*value.groups, *others))
        code, out, err = call("evaluate", value)
        assert code == 2
        assert out.startswith(HEADLINE)
        assert err == (
            "warning: skipped: invalid group empty: expected at least 1 member, got none\n"
            "warning: skipped: invalid group moving: expected state Stable, got "
            "PreparingRebalance\n"
        )
        told = document(call("simulate", value, "--json", "--quiet")[1])
        assert [each["group"] for each in told["left_out"]] == ["empty", "moving"]

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("empty", "invalid group empty: expected at least 1 member, got none"),
            ("moving", "invalid group moving: expected state Stable, got PreparingRebalance"),
            ("nobody", "group nobody is not among the 2 consumer groups"),
        ],
    )
    def test_by_name_they_are_errors(self, call, name, message):
        value = cluster(
            [1],
            group(name="empty", state="Empty"),
            group(member("x", None, []), name="moving", state="PreparingRebalance"),
        )
        code, out, err = call("evaluate", value, "--group", name)
        assert (code, out) == (1, "")
        assert err.startswith(f"error: {message}\nhint: ")

    def test_long_names_are_shortened_in_the_hint(self, call):
        value = cluster([1], group(name="L" * 300))
        _, _, err = call("evaluate", value, "--group", "nobody")
        assert err.endswith(f"\nhint: use one of: {'L' * 60}...\n")

    def test_nothing_to_judge(self, call):
        code, out, err = call("evaluate", cluster([1]))
        assert (code, out) == (1, "")
        assert err == (
            "error: expected at least 1 consumer group with members, got 0 of 0\n"
            "hint: take the snapshot without --no-groups\n"
        )

    @pytest.mark.parametrize(
        ("states", "error", "hint"),
        [
            (
                ["PreparingRebalance", "Empty"],
                (
                    "expected at least 1 consumer group in state Stable, got none: 1 of 2 is "
                    "rebalancing"
                ),
                "try again, or give a snapshot",
            ),
            (
                ["PreparingRebalance", "CompletingRebalance"],
                (
                    "expected at least 1 consumer group in state Stable, got none: 2 of 2 are "
                    "rebalancing"
                ),
                "try again, or give a snapshot",
            ),
            (
                ["Empty"],
                "expected at least 1 consumer group with members, got 0 of 1",
                "try again when consumers run, or give a snapshot of a time when they did",
            ),
        ],
    )
    def test_nothing_to_judge_and_why(self, call, states, error, hint):
        groups = [
            group(*([] if state == "Empty" else [member("x", None, [])]), name=state, state=state)
            for state in states
        ]
        code, out, err = call("evaluate", cluster([1], *groups))
        assert (code, out) == (1, "")
        lines = err.splitlines()
        assert [line.split(" group ")[0] for line in lines[:-2]] == [
            "warning: skipped: invalid" for _ in states
        ]
        assert lines[-2:] == [f"error: {error}", f"hint: {hint}"]

    def test_what_the_figures_exclude_is_named(self, call):
        value = cluster(
            [1, 2],
            group(
                member("m", "use1-az1", [0, 7], topics=None),
                member("n", "use1-az2", [], topics=("orders", "gone\n")),
            ),
            notes=(Note(kind="torn", text="read three times"),),
        )
        code, _, err = call("evaluate", value)
        assert code == 2
        assert err == (
            "warning: torn: read three times\n"
            "warning: billing: 1 member did not show their subscription: m; "
            "all topics of the group are assumed\n"
            "warning: billing: 1 topic is not in the cluster: gone\\x0a\n"
            "warning: billing: 1 assigned partition is not in the cluster: orders-7\n"
            "warning: billing: 1 partition has no member: orders-1\n"
        )

    @pytest.mark.parametrize(
        ("many", "what", "some"),
        [
            (1, "partition is", "orders-0"),
            (7, "partitions are", "orders-0, orders-1, orders-2, orders-3, orders-4 and 2 more"),
        ],
    )
    def test_topics_that_no_member_lists(self, call, many, what, some):
        having = member("m", "use1-az1", range(many), topics=())
        code, out, err = call("evaluate", cluster([1] * 7, group(having)))
        found = f"{many} assigned {what} of a topic that no member lists: {some}"
        assert (code, err) == (0, f"warning: billing: {found}\n")
        assert "busiest" not in out

    def test_a_group_of_the_consumer_protocol_on_its_way(self, call):
        moving = {"protocol": "consumer", "assignor": "uniform", "state": "Reconciling"}
        value = cluster([1], group(member("m", "use1-az1", [0]), **moving))
        code, out, err = call("evaluate", value)
        assert code == 0
        assert out.startswith("billing  consumer uniform  1 member  1 partition  local 1 (100 %)")
        assert err == (
            "warning: billing: it is Reconciling; the figures use its current assignment\n"
        )

    def test_many_are_counted(self, call):
        value = cluster([1] * 7, group(member("m", "use1-az1", [])))
        _, _, err = call("evaluate", value)
        assert err == (
            "warning: billing: 7 partitions have no member: "
            "orders-0, orders-1, orders-2, orders-3, orders-4 and 2 more\n"
        )
