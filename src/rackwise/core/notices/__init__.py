"""Notices: what people get to know when something changes, once per change.

```
changes    what has been reported of a cluster, what holds tonight -> notices, what to remember
costs      the cost of a day, and of the day that it is compared with
message    notices -> the JSON document of a webhook
```
"""
