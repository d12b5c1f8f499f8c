"""The lower bound that dual prices give, and the dual prices of a plan.

Goals, in order: the bound holds for any dual prices; one pass over the partitions; no solver.

Give every broker a dual price of any sign, and every capped topic on a broker a dual price that is
not negative. No fair plan costs less than

```
  sum over partitions of the least cost of copies and prices over legal sets     (`cheapest_sets`)
- for each group, the most that its total can cost: the low of every broker,
  and the rest on the brokers with the highest prices that have room             (`group_term`)
- every cap times its price
```

because the sets and loads of every fair plan are among those of the minimum. If the lower bound is
the cost of the plan, the plan is the cheapest. The difference is the gap.

```
grown: /a 1 (new 4), /b 2 (new 5)     four partitions on 1 and 2, fair is 2 each
price 1: 1, 2: 1, 4: 0, 5: 0          each partition: stay 0 + 1 + 1, move 1 + 1 + 0 + 0: least 2
bound       4 * 2 - (2 * 1 + 2 * 1 + 2 * 0 + 2 * 0) = 4         moves of the plan: 4
```

The cost is that of the instance: copies, or with a second objective also the price of replication
(`replication`).

Limits: this module does not judge whether sets are legal, or loads fair.

Source: weak duality of linear programming.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.errors import Infeasible, OptimumTooLarge
from rackwise.core.planning.model import Certificate, TopicPrice
from rackwise.core.planning.problem.cheapest_sets import NEVER, BrokerPrices, cheapest_sets
from rackwise.core.planning.problem.rack_bounds import infeasible_partitions
from rackwise.core.planning.proof.dual_prices import (
    MOST_PRICE,
    LoadLimits,
    dual_prices_of,
    group_term,
    is_valid_group,
    valid_prices,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Ragged
    from rackwise.core.planning.model import Fair
    from rackwise.core.planning.problem.instance import Instance

UNITS = {"moves": "replicas", "bytes": "bytes", "usd": "nano-dollars"}


def certify(instance: Instance, sets: Ragged, fair: Fair) -> Certificate:
    """The certificate of a plan: prices, and the bound that they give.

    `sets`: the set of every row after the plan, broker indexes, ascending. The bound equals the
    cost of the plan if no fair plan is cheaper. Otherwise the prices may give a weak bound, and
    prices of 0 may give a better one.
    """
    limits = LoadLimits.of(instance, fair.groups, fair.topic_caps)
    found = dual_prices_of(instance, sets, limits)
    names, ids = instance.view.table.topics, instance.brokers
    cells = np.argwhere(found.topics)
    cells = cells[np.lexsort((ids[cells[:, 1]], cells[:, 0]))]
    certificate = Certificate(
        objective=instance.minimise,
        unit=UNITS[instance.minimise],
        groups=fair.groups,
        cuts=fair.cuts,
        prices=dict(sorted(zip(ids.tolist(), found.brokers.tolist(), strict=True))),
        topic_prices=tuple(
            TopicPrice(
                names[limits.capped[topic]],
                int(ids[broker]),
                int(limits.caps[topic, broker]),
                int(found.topics[topic, broker]),
            )
            for topic, broker in cells.tolist()
        ),
        lower_bound=0,
    )
    free = replace(certificate, prices=dict.fromkeys(certificate.prices, 0), topic_prices=())
    tried = [certificate] if found.is_settled else [certificate, free]
    bounded = [replace(one, lower_bound=bound(instance, one)) for one in tried]
    return max(bounded, key=lambda one: one.lower_bound)


def bound(instance: Instance, certificate: Certificate) -> int:
    """The bound that a certificate gives: valid for any prices, if its groups and caps are valid.

    Prices of unknown brokers and topics, negative topic prices, and prices out of range count as 0;
    invalid groups are left out. Raises `Infeasible` if a partition has no legal set,
    `OptimumTooLarge` if copies cost `NEVER // 2` or more.
    """
    values = cheapest_sets(instance, prices_of_certificate(instance, certificate)).values
    if (values >= NEVER // 2).any():
        raise infeasible(instance) if infeasible_partitions(instance) else _too_expensive()
    groups = [group for group in certificate.groups if is_valid_group(group)]
    prices = valid_prices(instance.brokers, certificate.prices)
    grouped = [id_ for group in groups for id_ in group.brokers]
    free = int(prices[~np.isin(instance.brokers, grouped)].clip(min=0).sum())
    return (
        _total(values)
        - sum(group_term(group, instance.brokers, prices) for group in groups)
        - free * len(instance)
        - sum(one.cap * one.price for one in _valid_topic_prices(instance, certificate).values())
    )


def prices_of_certificate(instance: Instance, certificate: Certificate) -> BrokerPrices:
    """The prices that `bound` uses, of each usable broker and of topics on it."""
    found = _valid_topic_prices(instance, certificate)
    return BrokerPrices.by_topic(
        instance,
        valid_prices(instance.brokers, certificate.prices),
        {place: one.price for place, one in found.items()},
    )


def _valid_topic_prices(
    instance: Instance, certificate: Certificate
) -> dict[tuple[int, int], TopicPrice]:
    """(topic of the table, usable broker) -> its price, if that is valid and not 0."""
    index = {id_: at for at, id_ in enumerate(instance.brokers.tolist())}
    codes = {name: code for code, name in enumerate(instance.view.table.topics)}
    return {
        (codes[one.topic], index[one.broker]): one
        for one in certificate.topic_prices
        if one.topic in codes and one.broker in index and 0 < one.price <= MOST_PRICE
    }


def infeasible(instance: Instance) -> Infeasible:
    """The error for partitions without a legal set; names all of them."""
    reasons = infeasible_partitions(instance)
    view = instance.view
    is_helpful = view.cordoned & view.usable
    cordoned = view.tree.brokers[np.flatnonzero(is_helpful[:-1])].tolist()
    uncordon = f", or uncordon {_brokers_text(cordoned)}" if cordoned else ""
    return Infeasible(
        f"no legal replica set: {reasons[0]}",
        impossible=reasons,
        wanted=len(instance),
        had=len(instance) - len(reasons),
        hint=f"add brokers, or relax the policy{uncordon}",
    )


def _brokers_text(brokers: Sequence[int]) -> str:
    return f"broker{'s' * (len(brokers) > 1)} {', '.join(map(str, brokers))}"


def _too_expensive() -> OptimumTooLarge:
    return OptimumTooLarge(
        f"invalid cost of a copy: expected less than {NEVER // 2}, got more",
        wanted=f"less than {NEVER // 2}",
        hint="correct that size in the snapshot, or plan with --minimise moves",
    )


def _total(values: NDArray[np.int64]) -> int:
    """The exact sum, however large."""
    # The sum of int64 values may exceed int64: add the upper and lower halves separately.
    low = values & 0xFFFFFFFF
    return (int(((values - low) >> 32).sum()) << 32) + int(low.sum())


def ignored_prices(instance: Instance, certificate: Certificate) -> Iterator[str]:
    """The prices that the bound ignores."""
    ids, names = set(instance.brokers.tolist()), set(instance.view.table.topics)
    for id_, price in certificate.prices.items():
        if id_ not in ids:
            yield f"expected dual prices of usable brokers, got one of broker {id_}"
        elif abs(price) > MOST_PRICE:
            yield f"expected a dual price of at most {MOST_PRICE}, got {price} of broker {id_}"
    seen: set[tuple[str, int]] = set()
    for one in certificate.topic_prices:
        where = f"topic {one.topic} on broker {one.broker}"
        if one.topic not in names or one.broker not in ids:
            yield f"expected dual prices of topics on usable brokers, got one of {where}"
        elif not 0 <= one.price <= MOST_PRICE:
            yield f"expected a dual price from 0 to {MOST_PRICE}, got {one.price} of {where}"
        if (one.topic, one.broker) in seen:
            yield f"expected one dual price of {where}, got two"
        seen.add((one.topic, one.broker))
