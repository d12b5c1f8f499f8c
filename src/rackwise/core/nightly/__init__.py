"""One night over a fleet of clusters, as data.

```
night       the values: a step that ran, a night, what is remembered from night to night
due         which steps can start, by what has run: the night as a pure step function
commands    the command line of each step
window      the snapshots that the bill of a night needs
outcome     what failed, and the exit code of the night
```
"""
