"""Notices: what people are told when something changes, once per change.

```
changes    what was told of a cluster, what is true tonight -> what to tell, what to remember
message    notices -> the JSON document of a webhook
```
"""
