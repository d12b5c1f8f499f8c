"""Notices: what people are told when something changes, once per change.

```
changes    what was told of a cluster, what is true tonight -> what to tell, what to remember
costs      the cost of a day, and of the day that it is compared with
message    notices -> the JSON document of a webhook
```
"""
