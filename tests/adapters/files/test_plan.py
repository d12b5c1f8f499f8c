"""Plan files: what is written is read again, byte for byte; what was edited is refused."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given

from plans import POLICY, SIZE, plan_of, plans
from rackwise.adapters.files import (
    parse_plan,
    plan_bytes,
    plan_policy,
    plan_prices,
    policy_sha256,
    price_table,
    read_plan,
    shipped_prices,
    write_plan,
)
from rackwise.adapters.files.plan.write import plan_body
from rackwise.core.errors import InvalidConfig, InvalidPlan
from rackwise.core.json import strict as strict_json
from rackwise.core.json.canonical import canonical_json, sha256_of
from rackwise.core.planning.model import MadeFrom
from rackwise.core.policy import DEFAULT_POLICY, BalancePolicy

EDITED = "make a new plan; change the policy instead of the plan file"


def changed(old, new):
    """The example's file with one text replaced; its hash is judged last."""
    text = plan_bytes(plan_of()).decode()
    assert old in text
    return text.replace(old, new, 1)


def counted_plan():
    """The example, told how many partitions its topics had."""
    made_from = replace(plan_of().made_from, partitions={"\u00f6fters": 1, "orders": 6})
    return plan_of(made_from=made_from)


def refused(text):
    with pytest.raises(InvalidPlan) as raised:
        parse_plan(text.encode(), where="p.json")
    return raised.value


class TestReadAndWritten:
    @given(plans())
    def test_what_was_written_is_read(self, plan):
        data = plan_bytes(plan)
        assert parse_plan(data, where="p") == plan
        assert plan_bytes(parse_plan(data, where="p")) == data

    @given(plans())
    def test_without_its_line_feeds_it_is_canonical(self, plan):
        data = plan_bytes(plan)
        body = strict_json.parse(data, where="p", error=InvalidConfig)
        told = plan_body(plan) | {"sha256": plan.sha256}
        assert data.replace(b"\n", b"").decode() == canonical_json(body) == canonical_json(told)
        assert plan.sha256 == body.pop("sha256") == sha256_of(body)

    def test_the_format_stays_as_it_is(self):
        told = "64989547c11b9925c3084431b54bf256715091b9c1c35572400554665ff47212"
        assert plan_of().sha256 == told, "files that are kept would be refused: take a new format"

    def test_a_file_that_does_not_tell_how_many_partitions_there_were_is_read(self):
        assert '"partitions":' not in plan_bytes(plan_of()).decode().split('"moves":')[0]
        assert parse_plan(plan_bytes(plan_of()), where="p").made_from.partitions == {}

    def test_one_topic_a_line(self):
        lines = plan_bytes(counted_plan()).decode().splitlines()
        assert [line.rstrip(",") for line in lines if line.startswith('{"count"')] == [
            '{"count":6,"topic":"orders"}',
            '{"count":1,"topic":"\u00f6fters"}',
        ]

    def test_one_move_and_one_broker_a_line(self):
        lines = plan_bytes(plan_of()).decode().splitlines()
        assert [line for line in lines if line.startswith('{"after"')] == [
            (
                '{"after":[1,3,4],"before":[1,2,4],"bytes":13314398618,"cross_bytes":13314398618,'
                '"partition":4,"reasons":["spread-even"],"topic":"orders",'
                '"topic_id":"4L6g3nShTeMCtKX86sw","usd_nano":248000000},'
            ),
            (
                '{"after":[1,3,4],"before":[3,1,9],"bytes":null,"cross_bytes":null,"partition":5,'
                '"reasons":["dead-replica","leader-balance"],"topic":"orders",'
                '"topic_id":"4L6g3nShTeMCtKX86sw","usd_nano":null}'
            ),
        ]
        assert [line.rstrip(",") for line in lines if line.startswith('{"id"')] == [
            '{"id":1,"is_fenced":null,"rack":"/a"}',
            '{"id":2,"is_fenced":null,"rack":"/a"}',
            '{"id":3,"is_fenced":null,"rack":"/b"}',
            '{"id":4,"is_fenced":null,"rack":"/c"}',
        ]

    def test_a_changed_move_is_a_changed_line_and_a_changed_hash(self):
        plan = plan_of()
        first, *others = plan.moves
        other = plan_of(moves=(replace(first, after=(1, 3, 2)), *others))
        old, new = plan_bytes(plan).splitlines(), plan_bytes(other).splitlines()
        assert sum(a != b for a, b in zip(old, new, strict=True)) == 2
        assert plan.sha256 != other.sha256

    @pytest.mark.parametrize("name", ["p.json", "p.json.gz"])
    def test_a_file_packed_or_not(self, tmp_path, name):
        write_plan(plan_of(), tmp_path / name)
        data = (tmp_path / name).read_bytes()
        assert (gzip.decompress(data) if name.endswith(".gz") else data) == plan_bytes(plan_of())
        assert read_plan(tmp_path / name) == plan_of()


class TestPolicy:
    def test_of_a_text_in_toml(self):
        assert plan_policy(plan_of(), where="p.json") == DEFAULT_POLICY

    def test_of_canonical_json(self):
        text = '{"balance":{"replicas":"off"},"format":"rackwise.policy/1"}'
        found = plan_policy(made_under(text), where="p.json")
        assert found.balance == BalancePolicy(replicas="off")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                'format = "rackwise.policy/1"\nrf = 3',
                'invalid p.json: $.made_from.policy:2 at $.rf: unknown key "rf"',
            ),
            (
                '{"format":"rackwise.policy/1","rf":3}',
                'invalid p.json: $.made_from.policy at $.rf: unknown key "rf"',
            ),
            ("rf = 3", 'invalid p.json: $.made_from.policy at $.format: expected "rackwise.pol'),
            ('{"rf":', "invalid p.json: $.made_from.policy"),
        ],
    )
    def test_of_a_text_that_is_none(self, text, message):
        with pytest.raises(InvalidPlan) as raised:
            plan_policy(made_under(text), where="p.json")
        assert message in raised.value.message
        assert raised.value.where == "$.made_from.policy"


class TestPricesOfAPlan:
    def test_the_rows_that_it_was_made_with(self):
        prices = (*shipped_prices(), replace(shipped_prices()[0], valid_to=date(2027, 1, 2)))
        told = plan_prices(made_with(price_table(prices)), where="p.json")
        assert [replace(each, row="") for each in told] == [
            replace(each, row="") for each in prices
        ]

    def test_none_where_no_dollars_were_worked_out(self):
        assert price_table(()) == ""
        assert plan_prices(plan_of(), where="p.json") == ()
        assert b'"prices":' not in plan_bytes(plan_of()).split(b'"made_from"')[1].split(b"moves")[0]

    def test_of_a_text_that_is_none(self):
        with pytest.raises(InvalidPlan, match=r"p\.json: \$\.made_from\.prices") as raised:
            plan_prices(made_with("provider\naws\n"), where="p.json")
        assert (raised.value.where, raised.value.hint) == ("$.made_from.prices", EDITED)


def made_with(text):
    return plan_of(made_from=replace(plan_of().made_from, prices=text))


def made_under(text):
    made_from = plan_of().made_from
    return plan_of(made_from=replace(made_from, policy=text, policy_sha256=policy_sha256(text)))


class TestRefused:
    def test_a_hash_that_is_not_the_contents(self):
        text = plan_bytes(plan_of()).decode()
        error = refused(text.replace('"after":[1,3,4]', '"after":[1,3,2]', 1))
        assert error.message.startswith(
            "invalid p.json at $.sha256: expected the hash of the plan, "
        )
        assert (error.where, error.had, error.hint) == ("$.sha256", plan_of().sha256, EDITED)

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (
                '"after":[1,3,4],"before":[1,2,4]',
                '"after":[1,3,1],"before":[1,2,4]',
                "$.moves[0].after[2]: expected each broker once, got 1",
            ),
            (
                '"after":[1,3,4],"before":[1,2,4]',
                '"after":[1,3,7],"before":[1,2,4]',
                "$.moves[0].after[2]: expected a broker of made_from.brokers, got 7",
            ),
            (
                '"after":[1,3,4],"before":[1,2,4]',
                '"after":[],"before":[1,2,4]',
                "$.moves[0].after: expected at least one broker, got an empty list",
            ),
            (
                '"before":[3,1,9]',
                '"before":[3,9,9]',
                "$.moves[1].before[2]: expected each broker once, got 9",
            ),
            (
                '"before":[1,2,4]',
                '"before":[1,3,4]',
                "$.moves[0].after: expected another list than before, got a list",
            ),
            (
                '"partition":5',
                '"partition":4',
                '$.moves[1]: expected each partition once, got "orders-4" twice',
            ),
            (
                '"before":[3,1,9]',
                '"before":[3,1,true]',
                "$.moves[1].before[2]: expected a broker id, got true",
            ),
            (
                '"partition":5',
                '"partition":5.0',
                "$.moves[1].partition: expected a partition number, got 5.0",
            ),
            ('"minimise":"moves"', '"minimise":"time"', "expected one of moves, bytes, usd"),
            (
                '"name":"balance"',
                '"name":"dance"',
                "$.goal.name: expected one of repair, balance",
            ),
            ('"name":"balance"', '"name":"drain"', '$.goal: missing key "brokers"'),
            ('"rack":"/a"', '"rack":"/a//b"', "$.made_from.brokers[0].rack: expected a rack"),
            ('"rack":"/a"', '"rack":7', "$.made_from.brokers[0].rack: expected a rack or null"),
            ('"id":2', '"id":1', "$.made_from.brokers[1].id: expected each id once"),
            (
                '"policy":"format',
                '"policy":"Format',
                "$.made_from.policy_sha256: expected the hash of the policy",
            ),
            ("ab" * 32, "ab" * 31, "$.made_from.snapshot_sha256: expected a SHA-256 in hex"),
            (
                '"high":[2,2,2,2]',
                '"high":[2,2,2]',
                "$.certificates[0].groups[0].high: expected as many numbers as brokers, 4,",
            ),
            (
                '"low":[1,1,1,1]',
                '"low":[1,1,3,1]',
                "$.certificates[0].groups[0].low: expected no low above its high",
            ),
            ('"10":2', '"010":2', "$.certificates[0].prices: expected a broker id as key"),
            ('"10":2', '"3000000000":2', "$.certificates[0].prices: expected a broker id as key"),
            ('["orders",1,2,3]', '["orders",1,2]', "expected a list of topic, broker, cap, price"),
            ('["orders",1,2,3]', '["orders",1,2,-3]', "expected a price from 0 on, got -3"),
            ('"text":"proved"', '"text":"gap 0"', '$.verdict.text: expected "proved"'),
            ('"hypothetical":false', '"hypothetical":0', "expected true or false, got 0"),
            ('"solver":"flow 9.14"', '"solver":"flow","apply":1', 'unknown key "apply"'),
            (f'"bytes":{SIZE}', '"bytes":-1', "expected a size in bytes or null, got -1"),
        ],
    )
    def test_what_cannot_be_carried_out(self, old, new, message):
        error = refused(changed(old, new))
        assert message in error.message
        assert error.message.startswith("invalid p.json at $")
        assert error.where.startswith("$")

    @pytest.mark.parametrize(
        ("goal", "message"),
        [
            ('{"name":"replace","pairs":[[1]]}', "$.goal.pairs[0]: expected a pair of broker ids"),
            ('{"name":"replace","pairs":7}', "$.goal.pairs: expected a list"),
            ('{"brokers":[[1,"/a//b"]],"name":"add"}', "$.goal.brokers[0][1]: expected a rack"),
            (
                '{"by_topic":[["t",0]],"name":"set-rf","rebalance":false}',
                "$.goal.by_topic[0][1]: expected a number of replicas, got 0",
            ),
            ('{"brokers":[1],"name":"drain"}', '$.goal: missing key "rebalance"'),
            ('{"name":"repair","pairs":[]}', '$.goal: unknown key "pairs"'),
            ('{"name":["drain"]}', "$.goal.name: expected one of repair"),
            ("7", "$.goal: expected a goal, got 7"),
        ],
    )
    def test_a_goal_that_is_none(self, goal, message):
        assert message in refused(changed('{"name":"balance"}', goal)).message

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ('"count":6', '"count":0', "[0].count: expected a number of partitions, got 0"),
            (
                '"topic":"\u00f6fters"',
                '"topic":"orders"',
                "[1].topic: expected each topic once",
            ),
            ('{"count":6,"topic":"orders"}', "6", "[0]: expected an object, got 6"),
            (
                '"partitions":[',
                '"partitions":7,"topics":[',
                "partitions: expected a list of partitions",
            ),
        ],
    )
    def test_a_number_of_partitions_that_is_none(self, old, new, message):
        text = plan_bytes(counted_plan()).decode()
        if old == '"partitions":[':
            text = re.sub(r'"partitions":\[.*?\n\]', '"partitions":7', text, flags=re.DOTALL)
        else:
            assert old in text
            text = text.replace(old, new, 1)
        assert (
            f"$.made_from.partitions{message.removeprefix('partitions')}" in refused(text).message
        )

    def test_all_faults_are_counted(self):
        error = refused(changed('"after":[1,3,4],"before":[1,2,4]', '"after":[7,7,8],"before":[]'))
        assert error.message.endswith("got an empty list (and 3 more faults)")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('{"format":"rackwise.snapshot/1"}', "expected format rackwise.plan/1"),
            ('{"version":1,"partitions":[]}', "expected format rackwise.plan/1, got none"),
            ('{"format":"rackwise.plan/2"}', "expected format 1, got 2"),
            ("[]", "expected format rackwise.plan/1"),
            ("{", "p.json"),
        ],
    )
    def test_another_format(self, text, message):
        assert message in refused(text).message

    def test_every_key_is_wanted(self):
        body = plan_body(plan_of())
        for key in body:
            left = {other: each for other, each in body.items() if other != key}
            assert key in refused(canonical_json(left | {"sha256": "00" * 32})).message

    def test_no_hash_at_all(self):
        body = plan_body(plan_of())
        assert 'missing key "sha256"' in refused(canonical_json(body)).message


def test_the_policy_of_the_example_is_its_own():
    made_from = plan_of().made_from
    assert isinstance(made_from, MadeFrom)
    assert (made_from.policy, made_from.policy_sha256) == (POLICY, policy_sha256(POLICY))
