"""The execution of a plan as a pure state machine: throttled, journalled, resumable, reversible.

```
model             the state of a run: limits, partitions, throttles, outcome
actions           what a run asks for (Action) and what it observes (Observation)
journal/lines     the lines of a journal as values; journal/codec: as plain JSON values
preflight         whether a plan may run on the cluster as it is now
start             the first state of a run: from a plan, or from a plan and a journal
step              step(state, observation) -> state, actions
  decide            what a run does after it has read the cluster
  observe           what one reading of the cluster changes in the state
  window            which partitions are started next
    budget            how much a run may begin, and until when
  stop_conditions   why no new move is started
  throttles/        setting and clearing replication throttles
reverse           the plan that undoes what is done
status, progress  how much is done, how much is left, how long it takes
```

Time is an argument. Nothing here reads or writes.
"""
