"""CSV tables: rows by column, each fault with file, line and column; subnets, rates."""

from contextlib import suppress
from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.adapters.files import (
    parse_clients,
    parse_owners,
    parse_rates,
    read_clients,
    read_owners,
    read_prices,
    read_rates,
    read_subnets,
)
from rackwise.adapters.files.tables.csv import table_of
from rackwise.core.errors import (
    InvalidConfig,
    InvalidOwners,
    InvalidRack,
    InvalidRates,
    InvalidSubnets,
)
from rackwise.core.owners import OwnerGlob, Owners
from rackwise.core.racks import Rack
from rackwise.core.traffic import MAX_RATE, RateRow


def rows(data, required=("a", "b"), optional=("c",)):
    table = table_of(data, where="t.csv", error=InvalidRates, required=required, optional=optional)
    table.faults.raise_if_any()
    return table.rows


class TestTables:
    @pytest.mark.parametrize(
        "data",
        [
            b"a,b\n1,2\n3,4\n",
            b"\xef\xbb\xbfa,b\r\n1,2\r\n\r\n3,4\r\n\r\n",
            b'"a","b"\n 1 ,2\n"3", 4',
            b"b,a\n2,1\n4,3\n",
            b"b,c,a\n2,,1\n4,,3\n",
        ],
    )
    def test_what_spreadsheets_do_to_a_table_is_no_fault(self, data):
        assert [(row["a"], row["b"], row["c"]) for row in rows(data)] == [
            ("1", "2", ""),
            ("3", "4", ""),
        ]

    def test_a_row_knows_its_line(self):
        assert [row.where for row in rows(b"a,b\n\n1,2\n3,4\n")] == ["t.csv:3", "t.csv:4"]

    def test_no_rows(self):
        assert rows(b"a,b\n") == ()

    @pytest.mark.parametrize(
        ("data", "message", "hint"),
        [
            (
                b"",
                'invalid t.csv:1: missing column "a"; the header is ""',
                "begin the table with the line a,b,c",
            ),
            (
                b"a;b\n1;2\n",
                'invalid t.csv:1: missing column "a"; the header is "a;b"',
                "begin the table with the line a,b,c",
            ),
            (
                b"a,b,d\n",
                'invalid t.csv:1: unknown column "d"; the header is "a,b,d"',
                "begin the table with the line a,b,c",
            ),
            (
                b"a,b,a\n",
                (
                    "invalid t.csv:1: expected each column once, got one twice; "
                    'the header is "a,b,a"'
                ),
                "begin the table with the line a,b,c",
            ),
            (
                b"a,b\n1,2\n1,2,3\n1\n",
                "invalid t.csv:3: expected 2 cells, got 3 (and 1 more fault)",
                "put a cell that holds a comma between quotes",
            ),
            (
                b'a,b\n"1,2\n',
                "invalid t.csv:2: expected CSV, got a syntax error: unexpected end of data",
                "close each quote, and double a quote within quotes",
            ),
            (
                b"a,b\n1,\xff\n",
                "invalid t.csv:2: expected UTF-8, got byte 0xff",
                "save the table as CSV in UTF-8",
            ),
            (
                b"a,b\n1,x\x1by\n",
                'invalid t.csv:2: b: expected text without control characters, got "x\\x1by"',
                None,
            ),
            (
                b"a,b\n1," + b"x" * 140_000 + b"\n",
                ("invalid t.csv:2: expected cells of at most 131,072 characters, got a longer one"),
                (
                    "shorten the cell; if it is not that long, a quote is not closed: close each "
                    "quote, and double a quote within quotes"
                ),
            ),
        ],
    )
    def test_the_sentence_has_file_and_line(self, data, message, hint):
        with pytest.raises(InvalidRates) as raised:
            rows(data)
        assert (raised.value.message, raised.value.hint) == (message, hint)
        assert raised.value.where == ":".join(message.removeprefix("invalid ").split(":")[:2])

    @given(st.binary(max_size=30))
    def test_only_our_errors_leave(self, data):
        with suppress(InvalidRates):
            rows(b"a,b\n" + data)


class TestSubnets:
    @pytest.fixture
    def read(self, tmp_path):
        def of(text):
            (tmp_path / "s.csv").write_bytes(text.encode())
            return read_subnets(tmp_path / "s.csv")

        return of

    @pytest.mark.parametrize(
        "text",
        [
            "cidr,rack\n10.0.0.0/16,/eu/a\n2001:db8::/56,/eu/b\n",
            "\ufeffcidr,rack\r\n10.0.0.0/16,/eu/a\r\n2001:db8::/56,/eu/b\r\n",
            "/eu/a@10.0.0.0/16<>/eu/b@2001:db8::/56",
        ],
    )
    def test_two_spellings(self, read, text):
        assert [(subnet.network, subnet.rack) for subnet in read(text)] == [
            (ip_network("10.0.0.0/16"), Rack("/eu/a")),
            (ip_network("2001:db8::/56"), Rack("/eu/b")),
        ]

    def test_nested_networks_are_no_fault(self, read):
        assert len(read("cidr,rack\n10.0.0.0/16,a\n10.0.5.0/24,b\n")) == 2

    def test_one_network_in_two_racks_names_both_lines(self, read, tmp_path):
        with pytest.raises(InvalidSubnets) as raised:
            read("cidr,rack\n10.0.0.0/16,a\n10.0.0.0/24,a\n10.0.0.0/16,b\n")
        file = tmp_path / "s.csv"
        assert raised.value.message == (
            f"expected one rack for 10.0.0.0/16, got a in {file}:2 and b in {file}:4"
        )
        assert raised.value.hint == f"delete {file}:2 or {file}:4"

    @pytest.mark.parametrize(
        "text",
        [
            "cidr,rack\n10.0.0.1/16,a\n",
            "cidr,rack\n10.0.0.0,a\n",
            "cidr,rack\nx/8,a\n",
            "a@b<>",
            "",
        ],
    )
    def test_what_is_no_network(self, read, text):
        with pytest.raises(InvalidSubnets) as raised:
            read(text)
        assert raised.value.hint
        assert raised.value.where

    def test_not_utf_8(self, tmp_path):
        (tmp_path / "s.csv").write_bytes(b"cidr,rack\n\xff")
        with pytest.raises(InvalidSubnets, match=r"s\.csv:2: expected UTF-8, got byte 0xff"):
            read_subnets(tmp_path / "s.csv")


class TestRates:
    def test_rows(self, tmp_path):
        (tmp_path / "r.csv").write_text(
            "cluster,topic,bytes_in_per_s,client_group,bytes_out_per_s\n"
            "demo,orders,314572800,,\n"
            "demo,orders,,billing,1000000000000\n"
        )
        assert read_rates(tmp_path / "r.csv") == (
            RateRow(cluster="demo", topic="orders", bytes_in_per_s=314572800),
            RateRow(
                cluster="demo",
                topic="orders",
                client_group="billing",
                bytes_out_per_s=MAX_RATE,
            ),
        )

    def test_columns_that_are_not_known_may_be_left_out(self):
        assert parse_rates(b"topic,cluster,bytes_in_per_s\nt,c,0\n", where="r") == (
            RateRow(cluster="c", topic="t", bytes_in_per_s=0),
        )

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            (",t,1,,", "cluster: expected the name of a cluster, got an empty cell"),
            ("c,,1,,", "topic: expected the name of a topic, got an empty cell"),
            (
                "c,t,,,",
                "bytes_in_per_s: expected a rate, here or in bytes_out_per_s, got an empty",
            ),
            ("c,t,1,g,", "bytes_out_per_s: expected a value, got an empty cell"),
            ("c,t,1,,5", "client_group: expected a value, got an empty cell"),
            (
                "c,t,-1,,",
                "bytes_in_per_s: expected bytes per second, an integer of 0 to 1000000000000, got",
            ),
            (
                "c,t,1.5,,",
                "bytes_in_per_s: expected bytes per second, an integer of 0 to 1000000000000, got",
            ),
            (
                "c,t,1000000000001,,",
                "bytes_in_per_s: expected bytes per second, an integer of 0 to 1000000000000, got",
            ),
            ("c,t,9223372036854775808,,", "bytes_in_per_s: expected bytes per second, an"),
            ("c,t,,g,5MB", "bytes_out_per_s: expected bytes per second, an integer of 0 to"),
        ],
    )
    def test_bad_rows(self, row, message):
        text = f"cluster,topic,bytes_in_per_s,client_group,bytes_out_per_s\n{row}\n"
        with pytest.raises(InvalidRates) as raised:
            parse_rates(text.encode(), where="r.csv")
        assert raised.value.message.startswith(f"invalid r.csv:2: {message}")
        assert raised.value.where == "r.csv:2"

    @given(st.text("cgt,0159-.\n\"'é", max_size=20))
    def test_only_our_errors_leave(self, text):
        with suppress(InvalidRates):
            parse_rates(b"cluster,topic,bytes_in_per_s\n" + text.encode(), where="r")


class TestClients:
    def test_racks_by_what_names_the_client(self, tmp_path):
        (tmp_path / "c.csv").write_text(
            "client_id,client_group,principal,rack\n"
            "app-1,,,/eu/a\n,billing,,/eu/b\n,,User:x,/eu/a\napp-1,,,/eu/a\n"
        )
        assert read_clients(tmp_path / "c.csv") == {
            "client_id": {"app-1": Rack("/eu/a")},
            "client_group": {"billing": Rack("/eu/b")},
            "principal": {"User:x": Rack("/eu/a")},
        }

    def test_one_column_is_enough(self):
        read = parse_clients(b"client_group,rack\ng,a\n", where="c")
        assert read["client_group"] == {"g": Rack("a")}

    @pytest.mark.parametrize(
        ("text", "error", "message"),
        [
            (
                "client_id,client_group,rack\na,b,r\n",
                InvalidRates,
                "c.csv:2: client_id, client_group: expected one of client_id, client_group and",
            ),
            (
                "client_id,rack\n,r\n",
                InvalidRates,
                "c.csv:2: client_id: expected one of client_id, client_group and principal, got an",
            ),
            (
                "client_id,rack\na,r\na,s\n",
                InvalidRates,
                'c.csv:3: client_id: expected one rack per client, got "a"',
            ),
            ("client_id\na\n", InvalidRates, 'c.csv:1: missing column "rack"'),
            (
                "client_id,rack\na,/x//y\n",
                InvalidRack,
                "c.csv:2: rack path has an empty segment",
            ),
            (
                "client_id,rack\na,\n",
                InvalidRack,
                "c.csv:2: rack is empty or holds a control",
            ),
        ],
    )
    def test_bad_rows(self, text, error, message):
        with pytest.raises(error) as raised:
            parse_clients(text.encode(), where="c.csv")
        assert raised.value.message.startswith(f"invalid {message}")
        assert raised.value.hint
        assert raised.value.where.startswith("c.csv:")


class TestOwners:
    def test_a_table(self, tmp_path):
        text = "topic,group,owner\norders.*,,shop\n\n,batch,data platform\n*,,rest\n"
        (tmp_path / "o.csv").write_text(text)
        assert read_owners(tmp_path / "o.csv") == Owners(
            topics=(
                OwnerGlob(glob="orders.*", owner="shop", line=2),
                OwnerGlob(glob="*", owner="rest", line=5),
            ),
            groups=(OwnerGlob(glob="batch", owner="data platform", line=4),),
        )

    @pytest.mark.parametrize("column", ["topic", "group"])
    def test_one_of_the_two_columns_is_enough(self, column):
        read = parse_owners(f"owner,{column}\nshop,a*\n".encode(), where="o")
        (glob,) = [*read.topics, *read.groups]
        assert (glob.glob, glob.owner) == ("a*", "shop")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("topic\na\n", 'o.csv:1: missing column "owner"'),
            ("owner\nshop\n", "o.csv:2: topic: expected a glob in one of the columns"),
            ("topic,group,owner\na,b,shop\n", "o.csv:2: group: expected a glob in one of"),
            ("topic,owner\na,\n", "o.csv:2: owner: expected the name of an owner, got an empty"),
            ("topic,owner,team\na,b,c\n", 'o.csv:1: unknown column "team"'),
        ],
    )
    def test_bad_rows(self, text, message):
        with pytest.raises(InvalidOwners) as raised:
            parse_owners(text.encode(), where="o.csv")
        assert raised.value.message.startswith(f"invalid {message}")
        assert raised.value.hint


@pytest.mark.parametrize("read", [read_prices, read_rates, read_clients, read_owners, read_subnets])
def test_every_table_is_a_regular_file_within_the_cap(tmp_path, read):
    (tmp_path / "t.csv").write_bytes(b"x" * 11)
    with pytest.raises(InvalidConfig, match="expected at most 10 bytes, got 11"):
        read(tmp_path / "t.csv", max_bytes=10)
    with pytest.raises(InvalidConfig, match="expected a regular file, got a folder"):
        read(tmp_path)
