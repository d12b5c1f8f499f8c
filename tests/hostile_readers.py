"""Every reader of text or bytes that comes from outside: a name, and a function of the bytes.

`test_hostile_sizes` feeds them inputs of growing size, and `tests/fuzz` broken ones.
"""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha1
from pathlib import Path
from tempfile import NamedTemporaryFile

from rackwise.adapters.clients.confluent.statistics import read_statistics
from rackwise.adapters.files.fleet_file import read_fleet_file
from rackwise.adapters.files.journal import parse_journal
from rackwise.adapters.files.plan.read import parse_plan
from rackwise.adapters.files.plan.reassignment import parse_placement, parse_racks
from rackwise.adapters.files.policy import parse_policy
from rackwise.adapters.files.snapshot.read import parse_snapshot
from rackwise.adapters.files.tables.addresses import parse_addresses
from rackwise.adapters.files.tables.clouds.aws import parse_aws_subnets
from rackwise.adapters.files.tables.clouds.azure import parse_azure
from rackwise.adapters.files.tables.clouds.gcp import parse_gcp_instances
from rackwise.adapters.files.tables.kubernetes import parse_kubernetes
from rackwise.adapters.files.tables.owners import parse_owners
from rackwise.adapters.files.tables.prices import parse_prices
from rackwise.adapters.files.tables.rates import parse_clients, parse_rates
from rackwise.adapters.files.tables.zones import parse_zones
from rackwise.adapters.kafka.client_config import jaas_options
from rackwise.adapters.kafka.references import References
from rackwise.adapters.kafka.stores.jks import read_jks
from rackwise.adapters.kafka.stores.load import is_pem, well_formed
from rackwise.adapters.kafka.stores.material import StoreName
from rackwise.core.errors import InputError
from rackwise.core.inventory.addresses import in_order
from rackwise.core.inventory.clouds import machine_rows, subnet_rows
from rackwise.core.inventory.kubernetes import kubernetes_rows
from rackwise.core.java_properties import property_entries
from rackwise.core.json.strict import parse
from rackwise.core.placement.manual import parse_assignment
from rackwise.core.racks import Rack
from rackwise.core.replica_service.login_calls import read_login_call
from rackwise.core.sasl.key_set import parse_key_set
from rackwise.core.sasl.oauth_message import read_bearer_message
from rackwise.core.sasl.scram_credentials import parse_scram_users
from rackwise.core.sasl.scram_messages import read_client_final, read_client_first
from rackwise.core.sasl.tokens import read_token_header
from rackwise.core.subnets import parse_subnets
from rackwise.core.wire.batches import read_batch_spans
from rackwise.core.wire.consumer import (
    decode_blob,
    decode_leader_note,
    decode_sticky_user_data,
    decode_subscription,
)
from rackwise.core.wire.endpoints import read_endpoint
from rackwise.core.wire.ibp import parse_ibp, parse_software
from rackwise.core.wire.metadata import read_metadata_response
from rackwise.core.wire.replica_assignment import read_request
from rackwise.core.wire.topic_node import read_topic_node


def of_file(reader):
    return lambda data: reader(data, where="file")


def of_text(reader):
    return lambda data: reader(data.decode("latin-1"))


STORE = StoreName("ssl.keystore", "store")
ENTRIES = b"\xfe\xed\xfe\xed\0\0\0\1\xff\xff\xff\xff"
"""The head of a JKS store with as many entries as it can have."""


def store_of(data):
    """The store with hostile entries, and one whose only, protected key is hostile."""
    words = {"password": "p", "key_password": "k", "name": STORE}
    with suppress(InputError):
        read_jks(ENTRIES + data, **words)
    size = len(data)
    key = b"\x30\x84" + (size + 20).to_bytes(4, "big") + b"\x30\x0c"
    key += bytes.fromhex("060a2b060104012a02110101") + b"\x04\x84" + size.to_bytes(4, "big") + data
    body = ENTRIES[:8] + b"\0\0\0\1" + b"\0\0\0\1" + bytes(10)
    body += len(key).to_bytes(4, "big") + key + bytes(4)
    made = sha1("p".encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()  # noqa: S324
    read_jks(body + made, **words)


def resolve(text):
    References({}).resolved(text, "file:1", key="a", is_secret=False)


def fleet(data):
    with NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        read_fleet_file(file.name, environ={"NAME": "value"})


AZURE_VM = b"/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm"
AZURE_NICS = (
    b'[{"name":"n","virtualMachine":{"id":"%s"},'
    b'"ipConfigurations":[{"privateIPAddress":"10.2.0.4"}]}]'
) % AZURE_VM
AZURE_VMS = b'[{"id":"%s","name":"vm","location":"westeurope","zones":["1"]}]' % AZURE_VM


def azure(nics, vms):
    machines, _ = parse_azure(nics, vms, nics_where="nics", vms_where="vms")
    in_order(machine_rows(machines).rows)


READERS = {
    "JSON": lambda data: parse(data, where="file", error=InputError),
    "journal": lambda data: parse_journal(data, Path("journal")),
    "metadata response": lambda data: read_metadata_response(data, version=1),
    "node of a topic": lambda data: read_topic_node("t", data),
    "snapshot": of_file(parse_snapshot),
    "plan": of_file(parse_plan),
    "policy": of_file(parse_policy),
    "placement": of_file(parse_placement),
    "racks of brokers": of_file(parse_racks),
    "prices": of_file(parse_prices),
    "owners": of_file(parse_owners),
    "rates": of_file(parse_rates),
    "clients": of_file(parse_clients),
    "addresses": of_file(parse_addresses),
    "zones": of_file(parse_zones),
    "Kubernetes listing": lambda data: in_order(
        kubernetes_rows(parse_kubernetes(data, where="file")).rows
    ),
    "AWS subnets": lambda data: subnet_rows(parse_aws_subnets(data, where="file"), "id"),
    "Google instances": lambda data: in_order(
        machine_rows(parse_gcp_instances(data, where="file")).rows
    ),
    "Azure interfaces": lambda data: azure(data, AZURE_VMS),
    "Azure machines": lambda data: azure(AZURE_NICS, data),
    "fleet file": fleet,
    "properties": of_text(property_entries),
    "JAAS": of_text(jaas_options),
    "references": of_text(resolve),
    "JKS store": store_of,
    "kind of a store": lambda data: is_pem(data, "", STORE),
    "PEM of one line": of_text(well_formed),
    "subnets": of_text(parse_subnets),
    "rack": of_text(Rack),
    "assignment": of_text(parse_assignment),
    "endpoint": of_text(read_endpoint),
    "inter-broker protocol": of_text(parse_ibp),
    "software": of_text(parse_software),
    "statistics": of_text(read_statistics),
    "subscription": decode_subscription,
    "user data of rackwise": decode_blob,
    "note of a leader": decode_leader_note,
    "user data of sticky": decode_sticky_user_data,
    "record batches": read_batch_spans,
    "placement request": read_request,
    "frame of a login": read_login_call,
    "first message of SCRAM": read_client_first,
    "last message of SCRAM": read_client_final,
    "message of OAUTHBEARER": read_bearer_message,
    "header of a token": of_text(read_token_header),
    "JWKS": of_file(parse_key_set),
    "SCRAM users": of_file(parse_scram_users),
}
