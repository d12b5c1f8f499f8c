"""What an operator settles by hand: assign, retire, and taking a retired id back."""

import pytest

from identities import claim, mapping, owner, registered
from rackwise.core.identity.nodes.store import Absent, Create, Delete, Put
from rackwise.core.identity.operator.assign_retire import Ledger, assign, retire, undo
from rackwise.core.identity.operator.roster import UnreadableNode
from rackwise.core.identity.refusals import MappingCorrupt, NotFree, StillUsed

FENCE = Put("/brokers/id_alloc", b"", 40)
NOT_CLAIMED, NOT_LIVE = Absent("/brokers/claims/7"), Absent("/brokers/ids/7")
NOT_RETIRED = Absent("/brokers/retired_ids/7")
RESERVED = Create(
    "/brokers/id_owners/7", b'{"version":0,"key":"h7","incarnation":null,"endpoints":[]}'
)
DATA = b'{"version":0,"broker.id":7}'
G = mapping("g", 7, node_version=6)


def ledger(**more):
    return Ledger(broker_id=7, fence=40, now_ms=40_000, **{"owners": {}, **more})


class TestAssign:
    """A third-party tool could be used to manipulate the record in ZooKeeper."""

    def test_a_key_without_a_mapping(self):
        expected = (FENCE, NOT_CLAIMED, NOT_LIVE, NOT_RETIRED, RESERVED)
        assert assign("h7", ledger()) == (*expected, Create("/brokers/hosts/h7", DATA))

    def test_an_id_that_has_an_owner_keeps_it(self):
        assert RESERVED not in assign("h7", ledger(has_owner=True))

    def test_a_key_that_has_one_keeps_what_else_stands_in_it(self):
        before = mapping("h7", 9, version=3, node_version=2, extra={"x": 1})
        assert assign("h7", ledger(), before=before)[-1] == Put(
            "/brokers/hosts/h7", b'{"version":3,"broker.id":7,"x":1}', 2
        )

    def test_a_store_without_registrations_does_not_ask_for_them(self):
        assert NOT_LIVE not in assign("h7", ledger(has_registrations=False))

    def test_an_id_mapped_elsewhere_is_taken_only_by_force(self):
        with pytest.raises(
            NotFree, match="cannot assign id 7 to key h7: it is mapped to g"
        ) as caught:
            assign("h7", ledger(mappings=(G,)))
        assert caught.value.hint == "use --force to remove that mapping"
        assert caught.value.details == {"id": 7, "key": "h7"}
        assert caught.value.where == "/brokers/hosts"
        operations = assign("h7", ledger(mappings=(G, mapping("h7", 7))), force=True)
        assert operations[-1] == Delete("/brokers/hosts/g", 6)
        assert sum(isinstance(each, Delete) for each in operations) == 1

    @pytest.mark.parametrize("force", [False, True])
    @pytest.mark.parametrize(
        ("held", "said"),
        [
            ({"registration": registered(7)}, "a broker at x:9092, session 0x99, for 40 s"),
            (
                {"registration": registered(7), "owners": {7: owner(7, key="g")}},
                "the broker of key g at x:9092",
            ),
            ({"claim": claim(7, key="g")}, "a start of key g, session 0x71"),
        ],
    )
    def test_an_id_that_lives_under_another_key_is_not_taken(self, held, said, force):
        with pytest.raises(NotFree, match=f"is held by {said}"):
            assign("h7", ledger(**held), force=force)

    def test_an_id_that_is_retired_is_not_taken(self):
        with pytest.raises(NotFree, match="is retired") as caught:
            assign("h7", ledger(is_retired=True), force=True)
        assert caught.value.hint == "undo it: broker-id retire --undo 7"
        assert caught.value.where == "/brokers/retired_ids/7"

    @pytest.mark.parametrize(
        "held",
        [
            {"registration": registered(7), "owners": {7: owner(7, key="h7")}},
            {"registration": registered(7, at=frozenset({"h7.example:9092"}))},
        ],
    )
    def test_the_id_of_its_own_live_broker_may_be_written(self, held):
        operations = assign("h7", ledger(**held))
        assert NOT_LIVE not in operations
        assert operations[-1] == Create("/brokers/hosts/h7", DATA)

    def test_the_id_that_its_own_start_claims_may_be_written(self):
        operations = assign("h7", ledger(claim=claim(7, key="h7")))
        assert NOT_CLAIMED not in operations

    def test_a_mapping_that_cannot_be_read_is_replaced_only_by_force(self):
        unreadable = UnreadableNode(
            "not JSON", "write the mapping again: broker-id assign h7 ID --force"
        )
        problem = {"problem": unreadable, "problem_version": 8}
        with pytest.raises(
            MappingCorrupt, match="cannot read the mapping of key h7: not JSON"
        ) as caught:
            assign("h7", ledger(), **problem)
        assert caught.value.hint == "write the mapping again: broker-id assign h7 7 --force"
        written = assign("h7", ledger(), **problem, force=True)[-1]
        assert written == Put("/brokers/hosts/h7", DATA, 8)

    def test_a_mapping_that_is_denied_is_its_owners_to_mend(self):
        denied = UnreadableNode("the store denies READ", "log in as the owner of /brokers/hosts/h7")
        with pytest.raises(MappingCorrupt, match="the store denies READ") as caught:
            assign("h7", ledger(), problem=denied)
        assert caught.value.hint == denied.hint


class TestRetire:
    def test_mappings_and_marker_go(self):
        assert retire(ledger(mappings=(G,), marker_version=2)) == (
            FENCE,
            NOT_CLAIMED,
            NOT_LIVE,
            Delete("/brokers/hosts/g", 6),
            Delete("/brokers/missing_ids/7", 2),
            Create("/brokers/retired_ids/7", b""),
        )

    def test_what_is_retired_already_is_left(self):
        assert retire(ledger(is_retired=True)) == ()
        again = retire(ledger(is_retired=True, mappings=(G,)))
        assert again[-1] == Delete("/brokers/hosts/g", 6)

    def test_replicas_are_in_the_way_unless_by_force(self):
        with pytest.raises(StillUsed, match="has 12 replicas") as caught:
            retire(ledger(replicas=12))
        assert caught.value.details == {"id": 7, "replicas": 12}
        assert "--force" in caught.value.hint
        assert retire(ledger(replicas=12), force=True)[-1] == Create("/brokers/retired_ids/7", b"")

    @pytest.mark.parametrize("force", [False, True])
    @pytest.mark.parametrize("held", [{"registration": registered(7)}, {"claim": claim(7)}])
    def test_a_broker_always_is(self, held, force):
        with pytest.raises(StillUsed, match="is held by a ") as caught:
            retire(ledger(**held), force=force)
        assert caught.value.hint == "stop that broker first"

    def test_undo_takes_it_back(self):
        assert undo(ledger()) == ()
        assert undo(ledger(is_retired=True)) == (FENCE, Delete("/brokers/retired_ids/7"))
