"""Valid inputs of each reader in `hostile_readers`, and the edits that break them."""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from pathlib import Path

from hypothesis import strategies as st

from assignments import consumer_vectors
from hostile_readers import AZURE_NICS, AZURE_VMS
from rackwise.adapters.files.plan.write import plan_bytes
from rackwise.adapters.files.snapshot.write import snapshot_bytes
from rackwise.core.planning.plan import plan
from rackwise.core.wire.consumer import encode_leader_note
from rackwise.core.wire.replica_assignment import AssignmentRequest, write_request
from record_batches import neighbours
from registrations import TOPIC_3
from service_frames import header
from small_clusters import small_cluster
from wire_messages import METADATA

ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).parent / "corpus"
"""Found inputs, in a folder for each reader, each in a file named after its hash."""
PRICES = ROOT / "src/rackwise/adapters/files/tables/prices.csv"
CLUSTER = small_cluster(
    {1: "/a", 2: "/b", 3: "/c", 4: "/a"}, {"t-0": [1, 2, 3], "t-1": [1, 4, 2], "u-0": [2, 3]}
)
JOURNAL = (
    b'{"at":"2026-01-02T03:04:05Z","check":"%s","format":"rackwise.journal/1","plan":"5f","seq":1,'
    b'"type":"begin"}\n'
)
PLACEMENT = (
    b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],'
    b'"log_dirs":["any","any"]}]}'
)
ADDRESSES = (
    b"address,rack,owner,from,to\n10.1.0.7,a,shop/cart,2026-11-26T09:00:00Z,2026-11-26T10:00:00Z\n"
    b"10.1.0.7,b,,2026-11-26T10:00:00+00:00,\nfd00::7,a,,,\n"
)
GOOGLE = (
    b'[{"name":"kafka-0","creationTimestamp":"2026-11-02T10:00:00.123-07:00",'
    b'"networkInterfaces":[{"networkIP":"10.1.0.9"}],'
    b'"zone":"https://www.googleapis.com/compute/v1/projects/p/zones/europe-west1-b"}]'
)
FLEET = (
    b'[defaults]\nprovider = "aws"\n\n[clusters.prod-eu]\nbootstrap = "${env:NAME}:9092"\n'
    b'window = "22:00-05:00"\n'
)
STATISTICS = (
    b'{"ts":5,"brokers":{"b":{"nodeid":1,"state":"UP","stateage":7}},'
    b'"topics":{"t":{"partitions":{"0":{"leader":1,"msgq_cnt":0,"msgq_bytes":0}}}}}'
)


def sealed(line):
    """A line of a journal with its check."""
    body = line.replace(b'"check":"%s",', b"").rstrip()
    return line.replace(b"%s", sha256(body).hexdigest()[:16].encode())


def listings(name):
    return (ROOT / "examples" / "racks" / name).read_bytes()


def octets(section):
    return [bytes.fromhex(each["bytes"]) for each in consumer_vectors("wire")[section]]


@cache
def examples():
    """Name of a reader -> its valid inputs."""
    guide = (ROOT / "docs" / "guides" / "policy.md").read_text()
    policies = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)
    return {
        "JSON": [b'{"a":[1,-2,null,true,"x\\u00e9"],"b":{"c":"\\n"}}'],
        "journal": [sealed(JOURNAL)],
        "metadata response": [METADATA[1]],
        "node of a topic": [TOPIC_3, b'{"version":1,"partitions":{"0":[0,1]}}'],
        "snapshot": [snapshot_bytes(CLUSTER)],
        "plan": [plan_bytes(plan(CLUSTER))],
        "policy": [each.encode() for each in policies],
        "placement": [PLACEMENT],
        "racks of brokers": [b"broker,rack\n1,/a\n2,/b\n"],
        "prices": [b"".join(PRICES.read_bytes().splitlines(keepends=True)[:8])],
        "owners": [b"topic,group,owner\norders.*,,shop\n,batch,data\n"],
        "rates": [
            b"cluster,topic,bytes_in_per_s,client_group,bytes_out_per_s\nd,t,3,,\nd,t,,g,5\n"
        ],
        "clients": [b"client_group,rack\nbilling,/eu/a\n"],
        "addresses": [ADDRESSES],
        "zones": [b"name,id\nus-east-1a,use1-az4\nus-east-1b,use1-az6\n"],
        "Kubernetes listing": [listings("kubectl.json")],
        "AWS subnets": [listings("describe-subnets.json")],
        "Google instances": [GOOGLE],
        "Azure interfaces": [AZURE_NICS],
        "Azure machines": [AZURE_VMS],
        "fleet file": [FLEET],
        "properties": [b"a=1\nb.c : x\\u0041\\\n  y\n#c\n"],
        "JAAS": [b'org.example.Module required username="u" password="p\\"q";'],
        "references": [b"a", b"${env"],
        "JKS store": [b"\0\0\0\1\0\1a" + bytes(12)],
        "kind of a store": [b"-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"],
        "PEM of one line": [b"-----BEGIN CERTIFICATE----- AA== -----END CERTIFICATE-----"],
        "subnets": [b"10.0.0.0/8,a\n2001:db8::/32,b\n", b"a@10.0.0.0/19<>b@10.0.32.0/19\n"],
        "rack": [b"/eu/a/r7", b"use1-az1"],
        "assignment": [b"5:4,3:2"],
        "endpoint": [b"CLIENT://[::1]:9092", b"PLAINTEXT://h:1"],
        "inter-broker protocol": [b"0.10.0-IV1", b"3.9-IV0"],
        "software": [b"3.9.2", b"0.10.2.1"],
        "statistics": [STATISTICS],
        "subscription": octets("subscription"),
        "user data of rackwise": octets("rackwise_blob"),
        "note of a leader": [encode_leader_note("a", is_leader=True), b"RA"],
        "user data of sticky": octets("sticky_user_data"),
        "record batches": [b"".join(neighbours([1, 3, 2]))],
        "placement request": [
            write_request(
                AssignmentRequest(num_partitions=6, replication_factor=3, node_ids=(1, 2))
            )
        ],
        "frame of a login": [
            header(17, 1, version=1) + b"\0\x0dSCRAM-SHA-512",
            header(36, 2, version=2) + b"\x04n,,\0",
        ],
        "first message of SCRAM": [b"n,a=user,n=user,r=rOprNGfwEbeRWgbNEkqO"],
        "last message of SCRAM": [b"c=biws,r=rOprNGfwEbeRWgbNEkqO,p=dHzbZapWIk4="],
        "message of OAUTHBEARER": [b"n,a=user,\x01auth=Bearer a.b.c\x01x=y\x01\x01"],
        "header of a token": [b"eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.e30.AA"],
        "JWKS": [
            b'{"keys":[{"kty":"EC","kid":"a","crv":"P-256","x":"%s","y":"%s"}]}'
            % (b"A" * 43, b"A" * 43)
        ],
        "SCRAM users": [b"# users\n" + SCRAM_USER],
    }


SCRAM_USER = (
    b"user = SCRAM-SHA-256 salt=W22ZaJ0SNY7soEsUEjb6gQ==,"
    b"stored_key=WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=,"
    b"server_key=wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=,iterations=4096\n"
)


TOKENS = (
    *(
        b'"',
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"=",
        b"\n",
        b"\r\n",
        b"\0",
        b"\xff",
        b"\xc3",
    ),
    *(b"null", b"true", b"-1", b"1.5", b"1e400", b"NaN", b"9" * 20, b"99999999999", b"-0", b"0x1"),
    *(b"\\ud800", b"\\u0000", b"\xef\xbb\xbf", b"\xe2\x80\xae", b"${env:HOME}", b"/", b"//", b"*"),
    *(b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"[[[[[[[[", b'{"a":' * 70),
)


def edited(data, edits):
    """The input after edits: (kind, where of 1,000, how many bytes, other bytes)."""
    for kind, at, length, other in edits:
        start = len(data) * at // 1000
        end = start + length
        middle = {
            "replace": other,
            "delete": b"",
            "insert": other + data[start:end],
            "repeat": data[start:end] * 3,
            "flip": bytes(byte ^ 0x80 for byte in data[start:end]),
            "cut": None,
        }[kind]
        data = data[:start] if middle is None else data[:start] + middle + data[end:]
    return data


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["replace", "delete", "insert", "repeat", "flip", "cut"]),
        st.integers(0, 1000),
        st.integers(0, 40),
        st.sampled_from(TOKENS) | st.binary(max_size=6),
    ),
    min_size=1,
    max_size=6,
)


def broken(name):
    """Strategy: broken inputs of a reader."""
    return st.builds(edited, st.sampled_from(examples()[name]), EDITS)


def found(name):
    """The inputs in the corpus that a reader once did not read or reject as it should."""
    folder = CORPUS / name.replace(" ", "-")
    return [each.read_bytes() for each in sorted(folder.glob("*"))]
