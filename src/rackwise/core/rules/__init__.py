"""The rules of the audit, one function each: a view of a cluster in, findings as columns out.

```
spread    spread-even, spread-distinct, spread-at-least, rack-count, unequal-racks
replicas  replication, dead-replica, drained-broker, pin, reassigning
sync      offline, under-min-isr, under-replicated, at-min-isr
loss      rack-loss-offline, rack-loss-min-isr
leaders   leader-rack, not-preferred-leader
loads     replica-balance, leader-balance, topic-spread
whole     rack-missing, rack-depth, throttle-left, size-unknown, not-visible
```
"""
