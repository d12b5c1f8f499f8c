"""Address texts as integers, compared with Python's `ipaddress`."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_address
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

ODD = """
10.0.0.256 010.0.0.1 1.2.3 1.2.3.4.5 +1.2.3.4 -1.2.3.4 1..2.3 1.2.3.4:5 0.0.0.0 255.255.255.255
:: ::1 1:: 1:2:3:4:5:6:7:8 1:2:3:4:5:6:7:: ::2:3:4:5:6:7:8 1::3:4:5:6:7:8 1::2:3:4:5:6:7:8 1:2:3
::ffff:1.2.3.4 ::1.2.3.400 ::1.2.3.04 ::1.2.3 1:2:3:4:5:6:1.2.3.4 1:2:3:4:5:6:7:1.2.3.4 ::1.2.3.4.5
1:2:3:4:5::1.2.3.4 1:2:3:4:5:6::1.2.3.4 a:1.2.3.4 :1.2.3.4 1.2.3.4:: 1::1.2.3.4:5 g::1 12345::
1:::2 ::1:: :1 1: 2001:DB8::FF00:42:8329 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 8000:: : . 1 x
1:2:3:4:5:6:7:8:9
"""
"""Texts that are almost an address, separated by blanks."""


def drawn(rng):
    """An address text of either family, or one that is damaged in one place."""
    number = rng.getrandbits(128) & rng.getrandbits(128)
    number &= (0xFFFF << rng.randrange(113)) | (0xFFFF << 112)
    six = ip_address(number + 2**112)
    text = rng.choice([str(six), six.exploded, str(IPv4Address(rng.getrandbits(32)))])
    if rng.random() < 0.5:
        return text
    place = rng.randrange(len(text))
    return text[:place] + rng.choice(":.0af19 ") + text[place + rng.randrange(2) :]


def expected(text):
    """Version, and number of IPv4 or upper half of IPv6 as a signed long; None for other texts."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if address.version == 4:
        return 4, int(address)
    high = int(address) >> 64
    return 6, high - 2**64 if high >= 2**63 else high


def numbers(text):
    """The numbers of a text from `ipaddress`, None where Spark has null."""
    from rackwise.pipeline.columns.addresses import NONE, address_number

    ip, prefix = address_number(text)
    return None if ip == NONE else ip, prefix if ip < NONE else None


def actual(row):
    if row.ip is None:
        return None
    return (4, row.ip) if row.prefix is None else (6, row.prefix)


def read(spark, texts):
    from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

    from rackwise.pipeline.columns.address_columns import with_addresses

    frame = with_addresses(
        spark.createDataFrame([(t,) for t in texts], "t string"), {"": F.col("t")}
    )
    return frame.select("t", frame["_ip"].alias("ip"), frame["_prefix"].alias("prefix")).collect()


@pytest.fixture(scope="module")
def rows(spark):
    rng = Random(7)
    return read(
        spark,
        [
            *ODD.split(),
            "",
            " 1.2.3.4",
            "1.2.3.4\n",
            "::1\n",
            "::1.2.3.4\n",
            "1:" * 50_000,
            "::" + "0" * 50_000 + ":1.2.3.4",
            *(drawn(rng) for _ in range(3000)),
        ],
    )


@pytest.mark.spark
def test_a_text_is_an_address_exactly_if_python_accepts_it(rows):
    assert [(row.t, actual(row)) for row in rows] == [(row.t, expected(row.t)) for row in rows]


@pytest.mark.spark
def test_its_numbers_are_the_same_in_columns_and_in_python(rows):
    assert [(row.t, row.ip, row.prefix) for row in rows] == [(r.t, *numbers(r.t)) for r in rows]


@pytest.mark.spark
def test_all_spellings_of_an_ipv6_address_give_one_negative_number(spark):
    short, long, other, four = read(
        spark, ["2001:db8::7", "2001:DB8:0:0:0:0:0:0007", "2001:db8::8", "32.1.13.184"]
    )
    assert short.ip == long.ip < 0
    assert other.ip != short.ip
    assert four.ip > 0


@pytest.mark.spark
def test_other_texts_are_null(spark):
    found = read(spark, [None, "fe80::1%eth0", "10.0.0.256"])
    assert [(row.ip, row.prefix) for row in found] == [(None, None)] * 3


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 3)), unique=True, max_size=12),
    st.sampled_from([(1, 1), (1, 9_092), (2**40, 1), (2**40, 9_092)]),
)
def test_the_index_finds_exactly_its_pairs(drawn, apart):
    from rackwise.pipeline.columns.addresses import PairIndex

    ip_step, small_step = apart
    pairs = [(ip * ip_step, small * small_step) for ip, small in drawn]
    asked = [(ip * ip_step, small * small_step) for ip in range(-6, 7) for small in range(-1, 5)]
    asked += [(ip + 1, small) for ip, small in pairs] + [(ip, small + 1) for ip, small in pairs]
    index = PairIndex((ip for ip, _ in pairs), (small for _, small in pairs))
    rows = index.find(*np.array(asked, dtype=np.int64).T)
    assert rows.tolist() == [pairs.index(each) if each in pairs else -1 for each in asked]


def test_a_lookup_is_small_when_it_is_sent_to_workers():
    from pyspark.serializers import CloudPickleSerializer

    from rackwise.pipeline.columns.addresses import SPARSEST, NumberLookup

    ordered = np.arange(2**18) * (SPARSEST - 1)
    places = NumberLookup(ordered, np.arange(2**18))
    assert len(CloudPickleSerializer().dumps(places)) < 3 * ordered.nbytes
    assert places.find(ordered[::999]).tolist() == list(range(0, 2**18, 999))
    assert places.find(ordered[1:] - 1).max() == -1


def test_a_reader_forgets_its_texts_when_they_are_many(monkeypatch):
    from rackwise.pipeline.columns import addresses

    monkeypatch.setattr(addresses, "MOST_CACHED", 4)
    reader = addresses.AddressReader()
    few, known = ["10.0.0.1", "::1"], []
    for texts in (few, ["10.0.0.2", None, "x", "-"], ["10.0.0.3"], few):
        reader.begin_batch()
        numbers = [addresses.address_number(text or "") for text in texts]
        assert numbers_of(reader, texts) == numbers
        known.append(len(reader.ip) - addresses.FIRST_CODE)
    assert known == [2, 3, 1, 3]


def numbers_of(reader, texts):
    """`ip` and `prefix` of each text."""
    codes = reader.codes(pa.array(texts, pa.string()))
    return list(zip(reader.ip[codes].tolist(), reader.prefix[codes].tolist(), strict=True))


LONGS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 300) | st.sampled_from([-1, 0, 1])


class TestNumberLookup:
    @given(st.sets(LONGS), st.lists(LONGS))
    def test_it_is_a_dict_before_and_after_it_is_sent_to_a_worker(self, known, others):
        from pyspark.serializers import CloudPickleSerializer

        from rackwise.pipeline.columns.addresses import NumberLookup

        sent = CloudPickleSerializer()
        ordered = np.array(sorted(known), dtype=np.int64)
        values = np.arange(len(known))[::-1].copy()
        expected = dict(zip(ordered.tolist(), values.tolist(), strict=True))
        asked = np.array([*others, *known], dtype=np.int64)
        lookup = NumberLookup(ordered, values)
        for one in (lookup, sent.loads(sent.dumps(lookup))):
            found = one.find(asked)
            assert found.tolist() == [expected.get(number, -1) for number in asked.tolist()]

    def test_numbers_that_share_slots_are_found(self):
        from rackwise.pipeline.columns.addresses import NumberLookup

        ordered = np.unique(np.random.default_rng(7).integers(0, 2**32, 20_000))
        lookup = NumberLookup(ordered, np.arange(len(ordered)))
        assert lookup._is_shared.sum() > 100
        assert (lookup.find(ordered) == np.arange(len(ordered))).all()
        assert (lookup.find(ordered + 2**40) == -1).all()


TEXTS = st.lists(st.lists(st.sampled_from(["10.0.0.1", "10.0.0.2", "::1", "x", "-", None])))


class TestAddressReader:
    @given(TEXTS)
    def test_texts_have_the_numbers_of_each_alone_and_nulls_and_dashes_differ(self, batches):
        from rackwise.pipeline.columns import addresses

        reader = addresses.AddressReader()
        for texts in (*batches, *batches):
            numbers = [addresses.address_number(text or "") for text in texts]
            column = pa.array(["x", *texts], pa.string()).slice(1)
            for form in (column, column.dictionary_encode()):
                codes = reader.codes(form)
                found = zip(reader.ip[codes].tolist(), reader.prefix[codes].tolist(), strict=True)
                assert [*found] == numbers
                odd = {None: addresses.NO_TEXT, "-": addresses.DASH, "x": addresses.NO_ADDRESS_CODE}
                for text, code in zip(texts, codes.tolist(), strict=True):
                    assert odd.get(text, code) == code
                    assert (code >= addresses.FIRST_CODE) == (text not in odd)

    @given(TEXTS)
    def test_what_is_found_by_code_is_found_once_for_each_address(self, batches):
        from rackwise.pipeline.columns.addresses import AddressReader

        reader, asked = AddressReader(), []

        def find(ip, prefix):
            assert len(ip) == len(prefix)
            asked.extend(ip.tolist())
            return ip + 7

        for texts in batches:
            reader.codes(pa.array(texts, pa.string()))
            assert (reader.by_code("seven", find) == reader.ip + 7).all()
        assert asked == (reader.ip.tolist() if batches else [])
