"""The decision table, row by row as its text says; shares no code with ours.

An answer is (row, words): `TAKE 7 a`, `LOOK at_risk`, `WAIT`, `GENERATE`, or the code of a refusal.
"""


def naive_decision(seen, rules):
    """The first row whose condition holds."""
    c = None if seen.configured == -1 else seen.configured
    ids = [f.meta.broker_id for f in seen.log_dirs if f.meta and f.meta.broker_id is not None]
    m = min(ids, default=None)
    bare = [each for each in seen.log_dirs if each.meta is None and each.problem is None]
    for row, holds, code in _broken(seen, rules, c, ids, bare):
        if holds:
            return row, code
    if c is not None or m is not None:
        return _known(seen, rules, c, m, bare)
    for row, holds, code in _doubtful(seen, rules, bare):
        if holds:
            return row, code
    mapped = None
    if seen.mapping is not None:
        mapped = _mapped(seen, rules, seen.mapping.broker_id, bare)
    return mapped or _spare(seen, rules, bare) or _new(seen, rules)


def _broken(seen, rules, c, ids, bare):
    files = [each.meta for each in seen.log_dirs if each.meta is not None]
    own = [each.directory_id for each in files if each.directory_id is not None]
    yield "D1", len(set(ids)) > 1 or len(set(own)) < len(own), "META_INCONSISTENT"
    clusters = {each.cluster_id for each in files} | {seen.cluster_id}
    yield "D2", len(clusters - {None}) > 1, "WRONG_CLUSTER"
    is_plain = seen.mode == "zookeeper" and not seen.migrating
    yield "D3", is_plain and any(each.version != 0 for each in files), "META_VERSION"
    lacking = [f for f in files if f.version == 1 and None in {f.broker_id, f.cluster_id}]
    yield "D4", bool(lacking), "META_INCOMPLETE"
    yield "D5", c is not None and bool(ids) and c != ids[0], "ID_MISMATCH"
    most = 2**31 - 1
    if seen.mode == "zookeeper" and rules.generation and rules.reserved_max is not None:
        most = min(most, rules.reserved_max)
    yield "D6", c is not None and not -1 < c <= most, "ID_RANGE"
    yield "D7", seen.migrating and (c is None or rules.generation), "MIGRATION"
    yield "D8", seen.mode == "kraft" and seen.is_controller and bool(bare), "CONTROLLER_DISK"


def _doubtful(seen, rules, bare):
    unread = any(each.problem for each in seen.log_dirs)
    yield "D18", unread and not (rules.ignore_unreadable or rules.literal), "META_UNREADABLE"
    orphaned = any(each.partitions for each in bare)
    yield "D19", orphaned and not (rules.adopt_data or rules.literal), "DATA_WITHOUT_META"
    yield "D20", seen.mapping_problem is not None, "MAPPING_CORRUPT"


def _known(seen, rules, c, m, bare):
    n = m if c is None else c
    refused = _unknown_to_the_kip(seen, rules, n, bare) if not rules.literal else None
    if refused is not None:
        return refused
    if n in seen.registered:
        return "D12", "ID_IN_USE"
    if c is not None:
        return "D15", f"TAKE {n} configured"
    is_same = seen.mapping is None or seen.mapping.broker_id == m
    return ("D16" if is_same and not seen.mapping_problem else "D17"), f"TAKE {n} meta"


def _unknown_to_the_kip(seen, rules, n, bare):
    if n in seen.retired:
        return "D9", "ID_RETIRED"
    if n in seen.claims and seen.claims[n].session == seen.session:
        return "D10", f"TAKE {n} already"
    if _held(seen, n):
        is_early = _mine(seen, n) and seen.waited_ms < rules.wait_ms
        return ("D11", "WAIT") if is_early else ("D12", "ID_IN_USE")
    risk = _risk(seen, rules, n, bare)
    return risk and ("D13" if risk.startswith("LOOK") else "D14", risk)


def _mapped(seen, rules, h, bare):
    if rules.literal:
        return None if h in seen.registered else ("D27", f"TAKE {h} a")
    if h in seen.retired:
        return "D21", "ID_RETIRED"
    if h in seen.claims and seen.claims[h].session == seen.session:
        return "D22", f"TAKE {h} already"
    if _held(seen, h):
        if not _mine(seen, h):
            return "D25", "MAPPED_ID_HELD"
        is_early = seen.waited_ms < rules.wait_ms
        return ("D23", "WAIT") if is_early else ("D24", "HOST_HAS_LIVE_BROKER")
    risk = _risk(seen, rules, h, bare)
    return ("D26", risk) if risk else ("D27", f"TAKE {h} a")


def _spare(seen, rules, bare):
    if not rules.literal_step_b if rules.literal else rules.spare == "never":
        return None
    if seen.used is None or (not rules.literal and seen.missing_since_ms is None):
        return "D29", "LOOK missing"
    if rules.literal:
        spares = cand = seen.used - set(seen.registered)
    elif seen.watch == "leaderless":
        return "D29", "WATCHER_ABSENT"
    else:
        spares = seen.used - set(seen.registered) - set(seen.claims) - seen.retired
        cand = {each for each in spares if _may_go(seen, rules, each)}
    return _of_spares(seen, rules, spares, cand, bare)


def _of_spares(seen, rules, spares, cand, bare):
    if not spares:
        return None
    if len(cand) > 1:
        return "D31", "AMBIGUOUS_SPARE"
    if not cand:
        permitted = any(_is_permitted(seen, rules, s) for s in spares)
        blocked = {
            "grace": "WAIT" if permitted else "SPARE_RESERVED",
            "error": "SPARE_RESERVED",
            "wait": "WAIT",
            "generate": None,
        }[rules.on_blocked]
        return blocked and ("D32", blocked)
    (s,) = cand
    risk = None if rules.literal else _risk(seen, rules, s, bare)
    return ("D33", risk) if risk else ("D34", f"TAKE {s} b1")


def _new(seen, rules):
    if not rules.generation:
        return "D35", "NO_ID"
    if seen.used is None and not rules.literal:
        return "D36", "LOOK used"
    if not rules.literal and any(not each.owned for each in seen.unreadable.values()):
        return "D36", "MAPPING_CORRUPT"
    number = seen.generated
    if number is None:
        return "D36", "GENERATE"
    known = (seen.used, seen.reserved, seen.registered, seen.claims, seen.retired, seen.owned)
    if not rules.literal and any(number in ids for ids in known):
        return "D37", "NO_ID_LEFT" if seen.skipped >= 10_000 else "GENERATE"
    return "D38", f"TAKE {number} gen"


def _held(seen, n):
    is_claimed = n in seen.claims and seen.claims[n].session != seen.session
    return n in seen.registered or is_claimed


def _mine(seen, n):
    claim, registration = seen.claims.get(n), seen.registered.get(n)
    owner = seen.owners.get(n)
    if registration is None or owner is None:
        owner = None
    elif registration.incarnation is not None:
        owner = owner if owner.incarnation == registration.incarnation else None
    elif not owner.endpoints or owner.endpoints != registration.endpoints:
        owner = None
    theirs = frozenset() if registration is None else registration.endpoints
    if any(each is not None and each.key == seen.key for each in (claim, owner)):
        return True
    if seen.endpoints and theirs:
        return bool(seen.endpoints & theirs)
    return claim is None and owner is None


def _may_go(seen, rules, s):
    if not _is_permitted(seen, rules, s):
        return False
    if rules.grace_ms == 0:
        return True
    since = seen.missing_since_ms.get(s)
    return since is not None and seen.now_ms - since >= rules.grace_ms


def _is_permitted(seen, rules, s):
    return rules.spare == "any" if s in seen.reserved else not seen.unreadable


def _risk(seen, rules, n, bare):
    if not bare:
        return None
    if seen.at_risk is None:
        return "LOOK at_risk"
    return "LAST_IN_SYNC" if seen.at_risk.get(n) and not rules.accept_loss else None
