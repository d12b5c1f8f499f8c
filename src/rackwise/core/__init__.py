"""The pure room: values in, values out; no clock, no files, no network, no threads.

```
values      model (cluster, topics, partitions)   racks (paths, trees)   view   constants
            errors   text   secret
checks      audit -> rules, findings   fetch_diagnosis (why clients read across racks)
            blast, restore (what the loss of a rack does and costs)
decisions   placement   planning   assignors   partitioner   applying   identity   boxes
money       traffic (bytes and prices)   savings   subnets (address -> rack)
documents   policy   json   java_properties   wire (Kafka's and ZooKeeper's bytes)
numbers     solver (the only door to ortools)   max_flow
others      fleet (generated clusters and flows, with the truth about them)
            replica_service (calls and answers of the placement server)
            override (`typing.override` for Python 3.11)
```
"""
