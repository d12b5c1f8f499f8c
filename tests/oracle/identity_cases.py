"""Random files, configurations and registrations of brokers, as upstream is asked: seeded, small,
and awkward on purpose.
"""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

PIECES = [
    *[b"a", b"b.c", b"=", b":", b" ", b"\t", b"\f", b"\n", b"\n", b"\r", b"\r\n", b"\\", b"\\\n"],
    *[b"#", b"!", b"\\u00e9", b"\\uD83D\\uDE00", b"\\u12", b"\\t", b"\\q", b"\xe9", b"\x00", b"7"],
    *[b"\\\\", b"\\\r\n", b"\\ ", b"\\=", b"\xef\xbb\xbf"],
]
IDS = ["7", "8", "0", "007", "+7", "-1", "2147483647", "2147483648", "seven", "", "7 ", "7.0"]
VERSIONS = ["0", "1", "2", "", "-1", "00", "one"]
DIRECTORIES = ["hZdBPDQtQ5a6SD2yXr6ExA", "AAAAAAAAAAAAAAAAAAAABw", "bad", "AAAAAAAAAAAAAAAAAAAAAA"]
LISTENERS = [
    "PLAINTEXT://k1:9092",
    "SSL://[::1]:9093",
    "SASL_SSL://10.0.0.1:9094",
    "PLAINTEXT://:9092",
    "INTERNAL://k-1.example:1",
]
BAD_LISTENERS = ["k1:9092", "PLAINTEXT://k1", "PLAINTEXT://k 1:9092", "PLAINTEXT://k1:-1", ""]


def properties_case(rng: Random) -> dict:
    """Bytes that contain every special form of the parser."""
    data = b"".join(rng.choices(PIECES, k=rng.randint(0, 14)))
    return {"base64": b64encode(data).decode()}


def write_case(rng: Random) -> dict:
    """A file of version 0 or 1 with every field."""
    version = rng.randint(0, 1)
    return {
        "version": version,
        "node_id": rng.choice([0, 7, 2**31 - 1]),
        "cluster_id": rng.choice(["c", "YSBjb21tb24gY2x1c3Rlcg", "a b=c"]),
        "directory_id": rng.choice([None, *DIRECTORIES[:2]]) if version else None,
    }


def _file(rng: Random) -> str | None:
    """A meta.properties in base64, usually valid; None = there is none."""
    if rng.random() < 0.15:
        return None
    is_odd = rng.random() < 0.3
    version = rng.choice(VERSIONS) if is_odd else rng.choice(["0", "0", "1"])
    fields = {
        "version": version,
        "broker.id" if version != "1" else "node.id": rng.choice(IDS) if is_odd else "7",
        "cluster.id": rng.choice(["c", "d"]) if rng.random() < 0.2 else "c",
    }
    if rng.random() < 0.3:
        fields["directory.id"] = rng.choice(DIRECTORIES if is_odd else DIRECTORIES[:1])
    if not is_odd and rng.random() < 0.2:
        fields["node.id" if version == "1" else "broker.id"] = "8"
    kept = [pair for pair in fields.items() if rng.random() < (0.8 if is_odd else 0.97)]
    rng.shuffle(kept)
    text = "".join(f"{key}={value}\n" for key, value in kept)
    return b64encode(text.encode()).decode()


def read_case(rng: Random) -> dict:
    """One to three log dirs, and the values they are verified against."""
    return {
        "dirs": {name: _file(rng) for name in "abc"[: rng.randint(1, 3)]},
        "cluster_id": rng.choice(["c", "c", None]),
        "node_id": rng.choice([None, None, 7, 8]),
        "require_v0": rng.random() < 0.6,
    }


def config_case(rng: Random) -> dict:
    """Settings about the id of a broker, usually in ZooKeeper mode."""
    is_kraft = rng.random() < 0.25
    settings = {
        "log.dirs": rng.choice(["/a", "/a,/b", " /a , /b ", "/a,"]),
        "advertised.listeners": rng.choice(["PLAINTEXT://k1:9092", "PLAINTEXT://[::1]:9092"]),
    }
    if is_kraft:
        settings |= {
            "process.roles": rng.choice(["broker", "broker", "broker,proxy"]),
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": "99@k9:9093",
            "node.id": rng.choice(IDS),
        }
    else:
        settings["zookeeper.connect"] = "z1:2181"
    for key, values in {
        "broker.id": [*IDS, "1000", "1001", "-2"],
        "node.id": [*IDS, "1001"],
        "broker.id.generation.enable": ["true", "false", "FALSE", "no"],
        "reserved.broker.max.id": ["0", "6", "5000", "x"],
        "metadata.log.dir": ["/m", "/a"],
    }.items():
        if rng.random() < (0.5 if key == "broker.id" else 0.2):
            settings[key] = rng.choice(values)
    if not is_kraft and rng.random() < 0.2:
        settings |= {
            "zookeeper.metadata.migration.enable": "true",
            "controller.quorum.voters": "99@k9:9093",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        }
    return {"settings": settings}


def registration_case(rng: Random) -> dict:
    """A registration of any version; in about one of four something is wrong."""
    is_odd = rng.random() < 0.25
    pool = LISTENERS + (BAD_LISTENERS if is_odd else [])
    fields: dict[str, object] = {
        "version": rng.choice([0, 1, 2, 6, True, "5", None]) if is_odd else rng.randint(1, 6),
        "host": rng.choice(["k1", "::1", None]) if rng.random() < 0.3 else "k1",
        "port": rng.choice([-1, 0, "9092", 9092]) if is_odd else 9092,
        "jmx_port": -1,
        "timestamp": "1500000000000",
        "endpoints": rng.sample(pool, rng.randint(0, 3)),
        "listener_security_protocol_map": {
            "PLAINTEXT": "PLAINTEXT",
            "SSL": "SSL",
            "SASL_SSL": "SASL_SSL",
            "INTERNAL": "SASL_PLAINTEXT",
        },
    }
    if is_odd and rng.random() < 0.3:
        del fields[rng.choice(["version", "host", "port", "endpoints"])]
    if rng.random() < 0.5:
        fields |= {"rack": rng.choice(["a", None]), "features": {}}
    text = json.dumps(fields)
    return {"json": text[: rng.randrange(len(text))] if rng.random() < 0.05 else text}
