import pytest

from rackwise.core.errors import InvalidPolicy
from rackwise.core.policy import (
    POLICY_FORMAT,
    AtLeast,
    AuditPolicy,
    BalancePolicy,
    BrokerPolicy,
    CostPolicy,
    Policy,
    RackCount,
    RackPolicy,
    Slack,
    TopicBlock,
    TopicRules,
    json_path,
    policy_of,
    policy_table,
)


def read(**table):
    return policy_of({"format": POLICY_FORMAT, **table})


def block(**table):
    return read(topics=[{"match": ["*"], **table}]).topics[0]


def refused(table, message, *, where, hint=None):
    with pytest.raises(InvalidPolicy) as caught:
        policy_of({"format": POLICY_FORMAT, **table})
    assert str(caught.value) == f"invalid policy at $.{message}"
    assert caught.value.where == f"$.{where}"
    assert hint is None or hint in caught.value.hint


class TestDefaults:
    def test_an_empty_policy_has_them_all(self):
        assert read() == Policy()

    def test_every_level_is_even_and_nothing_else_is_wanted(self):
        assert Policy().rules_of("t", ("region", "zone")) == TopicRules(spread=("even", "even"))

    def test_of_the_whole(self):
        policy = Policy()
        assert policy.racks == RackPolicy(levels=(), missing="error")
        assert policy.balance == BalancePolicy(replicas="even", leaders="even", failover=False)
        assert policy.audit == AuditPolicy(fail_on="warning", rack_loss=None, ignore=())

    def test_empty_sections_change_nothing(self):
        sections = ("racks", "brokers", "balance", "cost", "audit")
        assert read(**{section: {} for section in sections}, topics=[]) == Policy()


def test_the_whole_of_it():
    assert read(
        racks={"levels": ["region", "zone"], "missing": "one-rack"},
        brokers={"drain": [7, 3], "exclude": [64, 9], "no_lead": [8], "weights": {"4": 2, "1": 1}},
        balance={"replicas": {"slack": 2}, "leaders": "keep", "failover": True},
        cost={"minimise": "usd", "prices": "prices.csv", "provider": "aws"},
        audit={"fail_on": "never", "rack_loss": ["zone"], "ignore": ["offline"]},
        topics=[
            {"match": ["*"], "spread": {"region": "even", "zone": "distinct"}},
            {
                "match": ["payments.*", "p?"],
                "replication": 3,
                "topic_spread": "even",
                "count": [{"rack": "/eu", "exactly": 2}, {"rack": "/us", "min": 1, "max": 1}],
                "count_others": "none",
                "pin": {"0": [4, 1]},
                "leader_racks": ["/eu/b", "/eu/a"],
            },
        ],
    ) == Policy(
        racks=RackPolicy(levels=("region", "zone"), missing="one-rack"),
        brokers=BrokerPolicy(drain=(3, 7), exclude=(9, 64), no_lead=(8,), weights={1: 1, 4: 2}),
        balance=BalancePolicy(replicas=Slack(2), leaders="keep", failover=True),
        cost=CostPolicy(minimise="usd", prices="prices.csv", provider="aws"),
        audit=AuditPolicy(fail_on="never", rack_loss=("zone",), ignore=("offline",)),
        topics=(
            TopicBlock(match=("*",), spread={"region": "even", "zone": "distinct"}),
            TopicBlock(
                match=("payments.*", "p?"),
                topic_spread="even",
                replication=3,
                count=(RackCount(rack="/eu", min=2, max=2), RackCount(rack="/us", min=1, max=1)),
                count_others="none",
                pin={0: (1, 4)},
                leader_racks=("/eu/b", "/eu/a"),
            ),
        ),
    )


class TestMapOfRacks:
    def test_names_become_paths(self):
        policy = read(racks={"map": {"use1-az1": "/us-east-1/use1-az1", "b c": "/b"}})
        assert policy.racks.map == {"use1-az1": "/us-east-1/use1-az1", "b c": "/b"}
        assert policy_of(policy_table(policy)) == policy
        assert read().racks.map == {}

    @pytest.mark.parametrize(
        ("given_map", "message", "hint"),
        [
            ({"/a": "/eu/a"}, "expected a plain name as key", "only names become paths"),
            ({"": "/eu/a"}, "expected a name without control characters", None),
            ({"a": "b"}, 'expected a rack path, got "b"', "begin the path with /"),
            ({"a": "/eu/"}, 'expected a rack path, got "/eu/"', 'has an empty segment: "/eu/"'),
            ({"a": "/"}, 'expected a rack path, got "/"', "name a rack as broker.rack does"),
            ({"a": 3}, "expected a rack path, got 3", None),
            ("a", 'expected a table, got "a"', None),
        ],
    )
    def test_what_is_no_map_is_refused(self, given_map, message, hint):
        with pytest.raises(InvalidPolicy) as caught:
            read(racks={"map": given_map})
        assert "$.racks.map" in str(caught.value)
        assert message in str(caught.value)
        assert hint is None or hint in caught.value.hint


class TestBlocks:
    policy = read(
        topics=[
            {"match": ["*"], "spread": {"level1": "even", "level2": "off"}, "replication": 2},
            {"match": ["pay.*"], "spread": {"level2": "distinct"}, "count_others": "any"},
            {"match": ["*.log", "?"], "replication": 3, "pin": {"1": [4], "0": [5]}},
        ]
    )

    def rules(self, topic):
        return self.policy.rules_of(topic, ("level1", "level2"))

    def test_later_ones_win_key_by_key_and_level_by_level(self):
        assert self.rules("orders") == TopicRules(spread=("even", "off"), replication=2)
        assert self.rules("pay.log") == TopicRules(
            spread=("even", "distinct"), replication=3, pin=((0, (5,)), (1, (4,)))
        )

    def test_globs_fit_the_whole_name_and_case_counts(self):
        assert self.policy.blocks_of("pay.x") == (0, 1)
        assert self.policy.blocks_of("PAY.x") == (0,)
        assert self.policy.blocks_of("x") == (0, 2)
        assert self.policy.blocks_of("x.log.gz") == (0,)

    def test_an_empty_list_is_said_too(self):
        policy = read(
            topics=[
                {"match": ["*"], "leader_racks": ["a"], "count": [{"rack": "a", "min": 1}]},
                {"match": ["t"], "leader_racks": [], "count": []},
            ]
        )
        assert policy.rules_of("t", ("zone",)) == TopicRules(spread=("even",))

    def test_equal_rules_have_equal_hashes(self):
        rules = [self.rules(topic) for topic in ("orders", "stock", "a.log", "b.log")]
        assert len(set(rules)) == 2


class TestSpread:
    def test_each_kind(self):
        assert block(spread={"zone": "even"}).spread == {"zone": "even"}
        assert block(spread={"zone": {"at_least": 2}}).spread == {"zone": AtLeast(2)}

    @pytest.mark.parametrize("level", ["zone", "level1", "level16"])
    def test_levels_without_names(self, level):
        assert block(spread={level: "off"}).spread == {level: "off"}


class TestCount:
    @pytest.mark.parametrize(
        ("said", "least", "most"),
        [
            ({"exactly": 2}, 2, 2),
            ({"min": 1}, 1, None),
            ({"max": 1}, 0, 1),
            ({"min": 1, "max": 2}, 1, 2),
        ],
    )
    def test_forms(self, said, least, most):
        count = block(count=[{"rack": "a", **said}]).count
        assert count == (RackCount(rack="a", min=least, max=most),)


def test_rack_loss_off_is_no_level():
    assert read(audit={"rack_loss": "off"}).audit.rack_loss == ()
    assert read(audit={"rack_loss": []}).audit.rack_loss == ()
    assert read(audit={"rack_loss": ["level2"]}).audit.rack_loss == ("level2",)


MISSING = {
    "slack": ({"balance": {"replicas": {"slac": 1}}}, "balance.replicas"),
    "at_least": (
        {"topics": [{"match": ["*"], "spread": {"zone": {"atleast": 2}}}]},
        "topics[0].spread.zone",
    ),
}


@pytest.mark.parametrize("key", MISSING)
def test_a_key_that_is_missing_is_named_and_the_unknown_one_counted(key):
    table, path = MISSING[key]
    hint = f"add {key}"
    refused(table, f'{path}: missing key "{key}" (and 1 more fault)', where=path, hint=hint)


UNKNOWN = {
    "policy": ({"rack": {}}, "rack", "racks, brokers"),
    "racks": ({"racks": {"level": []}}, "racks.level", "levels, missing"),
    "brokers": ({"brokers": {"drained": []}}, "brokers.drained", "drain, exclude"),
    "balance": ({"balance": {"replica": "off"}}, "balance.replica", "replicas, leaders"),
    "cost": ({"cost": {"minimize": "usd"}}, "cost.minimize", "minimise, prices"),
    "audit": ({"audit": {"fail": "x"}}, "audit.fail", "fail_on, rack_loss"),
    "block": (
        {"topics": [{"match": ["*"], "rf": 3}]},
        "topics[0].rf",
        "match, spread, topic_spread",
    ),
    "count": (
        {"topics": [{"match": ["*"], "count": [{"rack": "a", "eq": 1}]}]},
        "topics[0].count[0].eq",
        "rack, exactly",
    ),
}


@pytest.mark.parametrize(("table", "path", "hint"), UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_keys_are_refused(table, path, hint):
    key = path.rpartition(".")[2]
    refused(table, f'{path}: unknown key "{key}"', where=path, hint=hint)


def in_block(**table):
    return {"topics": [{"match": ["*"], **table}]}


COUNT_FORM = "topics[0].count[0]: expected rack with exactly, or with min, max or both"
SPREAD_FORM = "expected even, distinct, off or { at_least = N }, got"
WRONG = {
    "racks no table": ({"racks": 3}, "racks: expected a table, got 3"),
    "levels no list": (
        {"racks": {"levels": "zone"}},
        'racks.levels: expected a list of levels, got "zone"',
    ),
    "level no text": (
        {"racks": {"levels": [1]}},
        "racks.levels[0]: expected a text, got 1",
    ),
    "level twice": (
        {"racks": {"levels": ["a", "a"]}},
        'racks.levels[1]: expected each name once, got "a" twice',
    ),
    "17 levels": (
        {"racks": {"levels": list("abcdefghijklmnopq")}},
        "racks.levels: expected at most 16 levels, got 17",
    ),
    "missing": (
        {"racks": {"missing": "maybe"}},
        ('racks.missing: expected one of error, one-rack, unaware, got "maybe"'),
    ),
    "true is no id": (
        {"brokers": {"drain": [True]}},
        "brokers.drain[0]: expected an integer of 0 or more, got true",
    ),
    "id twice": (
        {"brokers": {"drain": [4, 4]}},
        ("brokers.drain[1]: expected each broker once, got 4 twice"),
    ),
    "weight 0": (
        {"brokers": {"weights": {"4": 0}}},
        'brokers.weights["4"]: expected an integer of 1 or more, got 0',
    ),
    "weight of no id": (
        {"brokers": {"weights": {"x": 1}}},
        ('brokers.weights: expected a broker id as key, got "x"'),
    ),
    "slack below 0": (
        {"balance": {"replicas": {"slack": -1}}},
        "balance.replicas.slack: expected an integer of 0 or more, got -1",
    ),
    "balance": (
        {"balance": {"replicas": {}}},
        'balance.replicas: missing key "slack"',
    ),
    "failover 1": (
        {"balance": {"failover": 1}},
        "balance.failover: expected true or false, got 1",
    ),
    "minimise": (
        {"cost": {"minimise": "time"}},
        'cost.minimise: expected one of moves, bytes, usd, got "time"',
    ),
    "prices": ({"cost": {"prices": ""}}, 'cost.prices: expected a text, got ""'),
    "fail_on": (
        {"audit": {"fail_on": "fatal"}},
        ('audit.fail_on: expected one of error, warning, info, never, got "fatal"'),
    ),
    "rack_loss": (
        {"audit": {"rack_loss": "zone"}},
        'audit.rack_loss: expected off or a list of levels, got "zone"',
    ),
    "rack_loss level": (
        {"audit": {"rack_loss": ["row"]}},
        'audit.rack_loss[0]: no level is called "row"',
    ),
    "topics": ({"topics": {}}, "topics: expected a list of topics, got a table"),
    "no match": (
        {"topics": [{"replication": 3}]},
        'topics[0]: missing key "match"',
    ),
    "empty match": (
        {"topics": [{"match": []}]},
        "topics[0].match: expected one glob or more, got an empty list",
    ),
    "level": (
        in_block(spread={"row": "even"}),
        'topics[0].spread.row: no level is called "row"',
    ),
    "spread": (
        in_block(spread={"zone": "evne"}),
        f'topics[0].spread.zone: {SPREAD_FORM} "evne"',
    ),
    "at_least 0": (
        in_block(spread={"zone": {"at_least": 0}}),
        ("topics[0].spread.zone.at_least: expected an integer of 1 or more, got 0"),
    ),
    "replication": (
        in_block(replication=1.0),
        "topics[0].replication: expected an integer of 1 or more, got 1.0",
    ),
    "topic_spread": (
        in_block(topic_spread="on"),
        'topics[0].topic_spread: expected one of off, even, got "on"',
    ),
    "count_others": (
        in_block(count_others=None),
        "topics[0].count_others: expected one of none, any, got null",
    ),
    "count form": (
        in_block(count=[{"rack": "a", "exactly": 1, "min": 1}]),
        f"{COUNT_FORM}, got rack, exactly, min",
    ),
    "count of nothing": (
        in_block(count=[{}]),
        f"{COUNT_FORM}, got nothing",
    ),
    "min over max": (
        in_block(count=[{"rack": "a", "min": 3, "max": 1}]),
        "topics[0].count[0]: expected min of at most max, got min 3 and max 1",
    ),
    "rack twice": (
        in_block(count=[{"rack": "a", "min": 1}, {"rack": "a", "max": 1}]),
        'topics[0].count[1].rack: expected each rack once, got "a" twice',
    ),
    "malformed rack": (
        in_block(leader_racks=["/a//b"]),
        'topics[0].leader_racks[0]: expected a rack below the root, got "/a//b"',
    ),
    "root rack": (
        in_block(count=[{"rack": "/", "min": 1}]),
        'topics[0].count[0].rack: expected a rack below the root, got "/"',
    ),
    "pin key": (
        in_block(pin={"-1": [4]}),
        'topics[0].pin: expected a partition number as key, got "-1"',
    ),
    "hostile text": (
        {"racks": {"missing": "\x1b[31m"}},
        ('racks.missing: expected one of error, one-rack, unaware, got "\\x1b[31m"'),
    ),
}


@pytest.mark.parametrize(("table", "message"), WRONG.values(), ids=WRONG)
def test_wrong_values_are_refused(table, message):
    refused(table, message, where=message.partition(":")[0])


def test_all_faults_are_counted():
    refused(
        {"racks": {"missing": "x"}, "brokers": {"drain": ["x", -1]}, "cost": {"price": 1}},
        'racks.missing: expected one of error, one-rack, unaware, got "x" (and 3 more faults)',
        where="racks.missing",
    )


def test_a_policy_is_a_table():
    with pytest.raises(InvalidPolicy, match=r"at \$: expected a table, got an empty list"):
        policy_of([])


def test_a_malformed_rack_is_explained():
    refused(
        in_block(leader_racks=["/a//b"]),
        'topics[0].leader_racks[0]: expected a rack below the root, got "/a//b"',
        where="topics[0].leader_racks[0]",
        hint="rack path has an empty segment",
    )


@pytest.mark.parametrize("value", [None, "rackwise.policy/2", 1])
def test_another_format_is_refused(value):
    with pytest.raises(
        InvalidPolicy, match=r'at \$.format: expected "rackwise\.policy/1"'
    ) as caught:
        policy_of({} if value is None else {"format": value})
    assert "begin the policy with format" in caught.value.hint


def test_known_names_are_hinted():
    refused(
        in_block(spread={"row": "even"}),
        'topics[0].spread.row: no level is called "row"',
        where="topics[0].spread.row",
        hint="levels: zone, level1",
    )


def test_a_reader_of_files_says_where_keys_stand():
    with pytest.raises(
        InvalidPolicy,
        match=r"^invalid policy.toml:18 at \$.brokers.drain\[0\]: expected an integer",
    ) as caught:
        policy_of(
            {"format": POLICY_FORMAT, "brokers": {"drain": ["x"]}},
            where=lambda path: f"policy.toml:{len(path)}",
        )
    assert caught.value.where == "policy.toml:18"


def test_paths():
    assert json_path(()) == "$"
    assert json_path(("a\x00", 0, "b")) == r'$["a\x00"][0].b'
