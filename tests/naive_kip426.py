"""The procedure of KIP-426 by its text and nothing else; shares no code with ours."""


def naive_kip426(
    *,
    configured=None,  # "1. Broker id assigned from command line or server.properties"
    stored=None,  # "2. Broker id stored in meta.properties"
    mapped=None,  # "3. information stored in ZooKeeper"
    registered=(),
    used=None,
    step_b=True,
    generation=True,
    number=None,
):
    """`use N`, `error`, `look` (the topics were not read) or `draw` (a number is needed)."""
    # "In case either 1 or 2 is set: first make sure they are consistent if both are set,
    if configured is not None and stored is not None and configured != stored:
        return "error"
    # then use it and bypass the following procedure unconditionally. If the broker fails to
    # register itself in ZooKeeper, an error will be thrown and human intervention is needed."
    known = stored if configured is None else configured
    if known is not None:
        return "error" if known in registered else f"use {known}"
    # "If the hostname has been assigned a broker id previously, try registering with the id.
    # If succeeds, use it;"
    if mapped is not None and mapped not in registered:
        return f"use {mapped}"
    # "(Optional) otherwise look for broker ids that were used previously but are not currently
    # registered: if there is exactly one, use it; if there are more than one, throw error;"
    if step_b:
        if used is None:
            return "look"
        missing = [each for each in used if each not in registered]
        if len(missing) > 1:
            return "error"
        if missing:
            return f"use {missing[0]}"
    # "If there are none, fallback to generating a new broker id."
    if not generation:
        return "error"
    return "draw" if number is None else f"use {number}"
