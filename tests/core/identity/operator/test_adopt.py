"""Which running brokers get a mapping without a start through acquire."""

import pytest

from identities import claim, mapping, owner, registered
from rackwise.core.identity.nodes.store import Absent, Check, Create, Delete, Put
from rackwise.core.identity.operator.adopt import adoptions
from rackwise.core.identity.operator.garbage import garbage
from rackwise.core.identity.operator.key_template import KeyTemplate
from rackwise.core.identity.operator.roster import Census, UnreadableNode

HOST = KeyTemplate.parse("{host}")
H7 = frozenset({"h7:9092"})
MAPPED = b'{"version":0,"broker.id":7}'
OWNED = b'{"version":0,"key":"h7","incarnation":500,"endpoints":["h7:9092"]}'
NOT_JSON = UnreadableNode("not JSON", "repair or delete that node")
STARTED = owner(7, at=H7)
"""The owner of the registration below."""


def census(**changes):
    base = {
        "mappings": (),
        "registered": {7: registered(7, at=H7)},
        "claims": {},
        "owners": {},
    }
    return Census(**{**base, **changes})


def adopted(template=HOST, *, versions=None, force=False, **changes):
    versions = {7: 1} if versions is None else versions
    (found,) = adoptions(census(**changes), template, ids=[7], versions=versions, force=force)
    return found


def test_a_broker_that_runs_plainly_gets_the_nodes_that_its_start_would_have_written():
    found = adopted()
    assert (found.id, found.key, found.state, found.before) == (7, "h7", "free", None)
    assert found.ops == (
        Check("/brokers/ids/7", 1),
        Absent("/brokers/claims/7"),
        Absent("/brokers/retired_ids/7"),
        Create("/brokers/hosts/h7", MAPPED),
        Create("/brokers/id_owners/7", OWNED),
    )


def test_a_second_adoption_changes_nothing():
    found = adopted(mappings=(mapping("h7", 7),), owners={7: STARTED})
    assert (found.state, found.before, found.ops) == ("present", 7, ())


@pytest.mark.parametrize("owners", [{}, {7: owner(7, incarnation=499)}, {7: owner(7, key="g")}])
def test_after_a_start_without_acquire_the_owner_is_renewed(owners):
    found = adopted(mappings=(mapping("h7", 7, node_version=4),), owners=owners)
    assert found.state == "free"
    assert Put("/brokers/hosts/h7", MAPPED, 4) in found.ops
    assert {op.path: type(op) for op in found.ops}["/brokers/id_owners/7"] is (
        Put if owners else Create
    )


def test_an_owner_that_cannot_be_read_is_replaced():
    found = adopted(problems={"/brokers/id_owners/7": NOT_JSON})
    assert Put("/brokers/id_owners/7", OWNED) in found.ops


def test_a_store_without_registrations_does_not_ask_for_them():
    (found,) = adoptions(census(), HOST, versions=None)
    assert not any(isinstance(op, Check) for op in found.ops)


@pytest.mark.parametrize("changes", [{"registered": {}}, {"versions": {}}])
def test_a_broker_that_is_not_registered_any_more_is_rejected(changes):
    found = adopted(**changes)
    assert (found.state, found.reason) == ("rejected", "no broker is registered")
    assert "broker-id assign KEY ID" in found.hint


def test_a_broker_without_a_key_is_rejected_and_the_others_are_not():
    registrations = {7: registered(7, at=frozenset({"localhost:1"})), 8: registered(8, at=H7)}
    first, second = adoptions(census(registered=registrations), HOST, versions={7: 1, 8: 1})
    assert (first.state, first.key) == ("rejected", None)
    assert "expected a stable name, got localhost" in first.reason
    assert second.state == "free"


def test_two_brokers_of_one_key_are_both_rejected():
    """KIP-426, what cannot be handled: "When multiple brokers run on the same host"."""
    registrations = {each: registered(each, at=frozenset({f"h7:909{each}"})) for each in (7, 8)}
    first, second = adoptions(census(registered=registrations), HOST, versions={7: 1, 8: 1})
    assert (first.reason, second.reason) == ("id 8 has the same key", "id 7 has the same key")
    assert "{host}-{port}" in first.hint
    by_port = KeyTemplate.parse("{host}-{port}")
    again = adoptions(census(registered=registrations), by_port, versions={7: 1, 8: 1})
    assert [each.key for each in again] == ["h7-9097", "h7-9098"]


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"claims": {7: claim(7)}}, "a start claims the id"),
        ({"problems": {"/brokers/claims/7": NOT_JSON}}, "a start claims the id"),
        ({"retired": frozenset({7})}, "the id is retired"),
    ],
)
def test_what_is_claimed_or_retired_is_never_adopted(changes, reason, force):
    found = adopted(**changes, force=force)
    assert (found.state, found.reason) == ("rejected", reason)


def test_what_acquire_started_under_another_key_keeps_it_unless_by_force():
    state = {"mappings": (mapping("g", 7),), "owners": {7: owner(7, key="g", at=H7)}}
    found = adopted(**state)
    assert (found.state, found.key, found.ops) == ("present", "g", ())
    forced = adopted(**state, force=True)
    assert (forced.state, forced.key, forced.taken_from) == ("free", "h7", ("g",))
    assert Delete("/brokers/hosts/g", 0) in forced.ops


def test_an_id_of_another_key_names_the_template_before_force():
    """Force removes the right mapping if the fleet was adopted with another template."""
    found = adopted(mappings=(mapping("kafka-7", 7),))
    assert (found.state, found.reason) == ("rejected", "id 7 is mapped to kafka-7")
    assert found.hint == (
        "if that is the key of this host, use the --key that makes it; if not, use --force to "
        "remove that mapping"
    )


def test_a_key_that_had_another_id_may_have_lost_its_disk():
    """Its replicas are still those of the other id: the problem that KIP-426 is about."""
    state = {"mappings": (mapping("h7", 3, node_version=6),)}
    found = adopted(**state)
    assert (found.state, found.before) == ("rejected", 3)
    assert (found.reason, found.hint) == (
        "key h7 is mapped to id 3",
        "if id 3 is given up, use --force",
    )
    forced = adopted(**state, force=True)
    assert (forced.state, forced.before) == ("free", 3)
    assert Put("/brokers/hosts/h7", MAPPED, 6) in forced.ops


def test_an_id_that_another_key_has_is_taken_only_by_force():
    found = adopted(mappings=(mapping("g", 7, node_version=5),))
    assert (found.state, found.reason) == ("rejected", "id 7 is mapped to g")
    forced = adopted(mappings=(mapping("g", 7, node_version=5),), force=True)
    assert forced.ops[-1] == Delete("/brokers/hosts/g", 5)


def test_a_mapping_that_cannot_be_read_is_replaced_only_by_force():
    hint = "write the mapping again: broker-id assign h7 ID --force"
    problems = {"/brokers/hosts/h7": UnreadableNode("not JSON", hint)}
    found = adopted(problems=problems)
    assert found.reason == "the mapping of key h7 cannot be read"
    assert found.hint == "write the mapping again: broker-id assign h7 7 --force"
    assert Put("/brokers/hosts/h7", MAPPED) in adopted(problems=problems, force=True).ops


def test_the_hint_for_a_mapping_that_the_store_denies_is_that_of_its_cause():
    denied = UnreadableNode("the store denies READ", "log in as the owner of /brokers/hosts/h7")
    assert adopted(problems={"/brokers/hosts/h7": denied}).hint == denied.hint


class TestGarbage:
    """Adopted mappings follow the rules of mappings that a start wrote."""

    def old(self, *, incarnation=500, template=HOST):
        """What gc finds a minute later, after `g` had the id before."""
        key = template.key_of(registered(7, at=H7))
        live = registered(7, at=H7, incarnation=incarnation)
        owners = {7: owner(7, key=key, at=H7)}
        pair = (mapping(key, 7), mapping("g", 7))
        return garbage(pair, {7: live}, {}, owners, now_ms=120_000)

    @pytest.mark.parametrize("template", [HOST, KeyTemplate.parse("k-{broker.id}")])
    def test_the_mapping_of_the_key_before_is_garbage(self, template):
        assert [each.key for each in self.old(template=template)] == ["g"]

    def test_after_a_plain_start_only_host_names_decide(self):
        assert [each.key for each in self.old(incarnation=501)] == ["g"]
        template = KeyTemplate.parse("k-{broker.id}")
        assert self.old(incarnation=501, template=template) == ()

    def test_it_is_never_garbage_while_its_broker_is_down(self):
        pair = (mapping("h7", 7), mapping("g", 7))
        assert garbage(pair, {}, {}, {7: STARTED}, now_ms=120_000) == ()
