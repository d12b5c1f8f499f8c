"""`rackwise topic`: topics made, widened or ensured on a real cluster, with rows of our own."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.installed import installed
from rackwise.cli.place.options import (
    DEFAULT_PLACER,
    BrokerList,
    IgnoreRacks,
    NoLoad,
    PlacerName,
    PlacerOptions,
    RackModeName,
    Seed,
    Terms,
    Wishes,
    check_rows_known,
    draws,
    explained,
    partition_count,
    placed,
    replica_count,
    rows_of,
    tell,
    terms,
)
from rackwise.cli.place.placers import made, pairs
from rackwise.cli.place.topic_rows import (
    Size,
    added,
    by_hand_rows,
    check_increase,
    refuse_beside_rows,
    show,
    tell_racks,
    tell_whole,
)
from rackwise.cli.shell import Shell, Terminated, drop_stdout
from rackwise.cli.source import ClientConfig, utc_now
from rackwise.core.errors import (
    InvalidConfig,
    PartialFailure,
    TopicExists,
    WorldError,
)
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.adapters.kafka import KafkaAdminClient, MissingTopic
    from rackwise.core.model import Cluster
    from rackwise.core.placement import Draws, Placement, Placer

PATIENCE_S = 30.0
LOOK_EVERY_S = 0.2
WAITING = "waiting for the topic"

app = typer.Typer(
    help="Create, widen or ensure a topic, its replicas placed by Rackwise.",
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The topic.")]
Server = Annotated[str, typer.Option(metavar="H:P", help="Brokers to ask, comma between.")]
ByHand = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Rows by hand, as 5:4,3:2: partition 0 on 5 and 4, ..."),
]
Configs = Annotated[
    list[str] | None, typer.Option("--config", metavar="K=V", help="Of the topic; repeatable.")
]


@app.command()
def create(
    context: typer.Context,
    name: Name,
    bootstrap_server: Server,
    client_config: ClientConfig = None,
    partitions: Annotated[str | None, typer.Option(metavar="P", help="How many.")] = None,
    replication_factor: Annotated[
        str | None, typer.Option(metavar="R", help="Replicas of each.")
    ] = None,
    replica_assignment: ByHand = None,
    placer: PlacerName = None,
    placer_option: PlacerOptions = None,
    rack_mode: RackModeName = None,
    disable_rack_aware: IgnoreRacks = False,
    broker_list: BrokerList = None,
    seed: Seed = None,
    no_load: NoLoad = False,
    config: Configs = None,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="Leave a topic of that name as it is.")
    ] = False,
) -> int:
    """Create a topic with placed rows and wait until the cluster shows them.

    Exit: 0 created, or there with this shape; 1 error, nothing was written; 2 there with another
    shape; 3 written, and the cluster does not show it so; 4 the principal lacks a right.
    """
    shell: Shell = context.obj
    wishes = Wishes(
        placer, placer_option or (), rack_mode, disable_rack_aware, broker_list, seed, no_load
    )
    size = Size(
        partitions=None if partitions is None else partition_count(partitions),
        replication=None if replication_factor is None else replica_count(replication_factor),
        by_hand=replica_assignment,
    )
    size.check(wishes)
    configs = pairs(config or (), option="--config")
    with connected(bootstrap_server, client_config) as admin:
        cluster = read(shell, admin)
        try:
            agreed, rows = _created(shell, admin, name, cluster, size, wishes, configs)
        except TopicExists:
            if not if_not_exists:
                raise
            rows = _shown_rows(shell, admin, name)
            return 0 if _is_as_asked(shell, name, rows, size, otherwise="differs") else 2
    with written(name):
        show(shell, name, "created", rows, agreed)
    return 0


def _created(
    shell: Shell,
    admin: KafkaAdminClient,
    name: str,
    cluster: Cluster,
    size: Size,
    wishes: Wishes,
    configs: Mapping[str, str],
) -> tuple[Terms | None, Placement]:
    """What was agreed, and the rows that the cluster now shows. Raises `TopicExists`, too."""
    from rackwise.adapters import kafka
    from rackwise.core.placement import RackMode, parse_assignment

    if name in cluster.topics:
        raise kafka.topic_exists(name)
    agreed: Terms | None = None
    if size.by_hand is not None:
        rows = parse_assignment(size.by_hand)
        check_rows_known(rows, cluster.brokers)
        report = explained(rows, cluster.brokers, RackMode.ENFORCED)
        tell(shell, report, cluster.brokers, placer=None)
    else:
        agreed = terms(wishes, cluster)
        rows, _ = placed(shell, agreed, size.partitions or 0, size.replication or 0)
    with unfinished(name), shell.progress(WAITING, len(rows)) as advance:
        kafka.create_topic(admin, name, rows, configs=configs, progress=advance)
    return agreed, rows


def _is_as_asked(shell: Shell, name: str, rows: Placement, size: Size, *, otherwise: str) -> bool:
    """Whether a topic that exists has the shape asked for; `otherwise`: what to call it if not."""
    is_equal = size.is_that_of(rows)
    if not is_equal:
        shell.warn(f"topic {escaped(name)} has another shape: {size.as_asked()} were asked for")
    show(shell, name, "exists" if is_equal else otherwise, rows, None)
    return is_equal


@app.command()
def alter(
    context: typer.Context,
    name: Name,
    bootstrap_server: Server,
    partitions: Annotated[str, typer.Option(metavar="N", help="How many in all.")],
    client_config: ClientConfig = None,
    replica_assignment: ByHand = None,
    placer: PlacerName = None,
    placer_option: PlacerOptions = None,
    rack_mode: RackModeName = None,
    disable_rack_aware: IgnoreRacks = False,
    broker_list: BrokerList = None,
    seed: Seed = None,
    no_load: NoLoad = False,
    replication_factor: Annotated[
        str | None, typer.Option(metavar="R", help="Refused here: that moves replicas.")
    ] = None,
) -> int:
    """Add partitions to a topic, up to N in all; those that exist stay where they are.

    By hand: rows of all N partitions; the first ones, which exist, are skipped. Exit: 0 added,
    1 error, nothing was written; 3 written, and the cluster does not show it so; 4 the principal
    lacks a right.
    """
    shell: Shell = context.obj
    if replication_factor is not None:
        raise InvalidConfig(
            "topic alter adds partitions; it cannot change the replication factor",
            wanted="--partitions",
            had="--replication-factor",
            hint="change_replication in Python gives the rows; Kafka's kafka-reassign-partitions "
            "moves the replicas",
        )
    wishes = Wishes(
        placer, placer_option or (), rack_mode, disable_rack_aware, broker_list, seed, no_load
    )
    if replica_assignment is not None:
        refuse_beside_rows(wishes.given())
    count = partition_count(partitions)
    with connected(bootstrap_server, client_config) as admin:
        from rackwise.adapters import kafka

        cluster = read(shell, admin)
        if name not in cluster.topics:
            raise kafka.unknown_topic(name)
        existing = rows_of(cluster, name)
        check_increase(name, existing, count)
        if replica_assignment is not None:
            agreed = None
            new = by_hand_rows(replica_assignment, cluster, name, existing, count)
        else:
            agreed = terms(wishes, cluster, topic=name)
            new = added(agreed, name, existing, count)
        tell_whole(shell, cluster, existing, new, agreed)
        with unfinished(name), shell.progress(WAITING, len(new)) as advance:
            kafka.add_to_topic(admin, name, new, progress=advance)
    with written(name):
        show(shell, name, "widened", new, agreed)
    return 0


@app.command()
def ensure(
    context: typer.Context,
    name: Name,
    bootstrap_server: Server,
    partitions: Annotated[str, typer.Option(metavar="P", help="How many.")],
    replication_factor: Annotated[str, typer.Option(metavar="R", help="Replicas of each.")],
    client_config: ClientConfig = None,
    placer: PlacerName = None,
    placer_option: PlacerOptions = None,
    seed: Seed = None,
    config: Configs = None,
) -> int:
    """Make a topic unless it is there, as auto-creation does.

    Racks count where all brokers have one, and are ignored where some have none. Exit: 0 it is
    there, 1 error, nothing was written; 3 written, and the cluster does not show it so; 4 the
    principal lacks a right.
    """
    shell: Shell = context.obj
    configs = pairs(config or (), option="--config")
    options = pairs(placer_option or (), option="--placer-option")
    chosen = made(placer or DEFAULT_PLACER, options)
    size = Size(
        partitions=partition_count(partitions),
        replication=replica_count(replication_factor),
        by_hand=None,
    )
    drawn, rng = draws(seed)
    with connected(bootstrap_server, client_config) as admin:
        missing = _made_now(shell, admin, name, size, chosen, configs, rng)
        if missing is None:
            _is_as_asked(shell, name, _shown_rows(shell, admin, name), size, otherwise="exists")
            return 0
    from rackwise.core.placement import RackMode

    agreed = Terms(
        name=placer or DEFAULT_PLACER,
        options=options,
        placer=chosen,
        brokers=missing.brokers,
        racks=RackMode.SAFE,
        load=None,
        seed=drawn,
        is_drawn=seed is None,
        rng=rng,
    )
    with written(name):
        tell_racks(shell, agreed.brokers)
        report = explained(missing.rows, agreed.brokers, agreed.racks)
        tell(shell, report, agreed.brokers, placer=agreed.name, drawn=agreed.drawn)
        show(shell, name, "created", missing.rows, agreed)
    return 0


def _made_now(
    shell: Shell,
    admin: KafkaAdminClient,
    name: str,
    size: Size,
    placer: Placer,
    configs: Mapping[str, str],
    rng: Draws,
) -> MissingTopic | None:
    """What was missing and is made; None where the topic was there, or somebody else was faster."""
    from rackwise.adapters import kafka

    numbers = size.partitions or 0, size.replication or 0
    missing = kafka.missing_topic(admin, name, *numbers, placer=placer, rng=rng)
    if missing is None:
        return None
    with unfinished(name), shell.progress(WAITING, len(missing.rows)) as advance:
        try:
            kafka.create_topic(admin, name, missing.rows, configs=configs, progress=advance)
        except TopicExists:
            return None
    return missing


@contextmanager
def connected(bootstrap: str, client_config: Path | None) -> Iterator[KafkaAdminClient]:
    """An admin client of a running cluster, closed at the end."""
    with installed("kafka", "talk to brokers"):
        from rackwise.adapters import kafka

    settings = kafka.read_client_config(client_config) if client_config is not None else {}
    with closing(kafka.connect(bootstrap, settings)) as admin:
        yield admin


def read(shell: Shell, admin: KafkaAdminClient) -> Cluster:
    """The cluster as it is now, without sizes and configs."""
    from rackwise.adapters import kafka

    with shell.progress("reading the cluster") as advance:
        return kafka.read_cluster(
            admin, taken_at=utc_now(), sizes=False, configs=False, progress=advance
        )


def _shown_rows(shell: Shell, admin: KafkaAdminClient, name: str) -> Placement:
    """The rows of a topic that is there: brokers hear of it one after the other."""
    from rackwise.adapters import kafka

    deadline = time.monotonic() + PATIENCE_S
    with shell.progress(WAITING) as advance:
        while (rows := kafka.topic_rows(admin, name)) is None:
            advance(0)
            if time.monotonic() >= deadline:
                break
            time.sleep(LOOK_EVERY_S)
    if rows is None:
        raise WorldError(
            f"topic {escaped(name)} exists, but no broker shows it after {PATIENCE_S:.0f} s",
            wanted="shown",
            had="hidden",
            hint="the principal may lack the right to describe it, or brokers lag",
        )
    return rows


@contextmanager
def unfinished(name: str) -> Iterator[None]:
    """A signal inside the block leaves it open what was written: `PartialFailure`."""
    try:
        yield
    except (KeyboardInterrupt, Terminated):
        raise PartialFailure(
            f"interrupted before the cluster showed the rows of topic {escaped(name)}",
            skipped=[name],
            hint="they may still appear: check with rackwise audit before you send them again",
        ) from None


@contextmanager
def written(name: str) -> Iterator[None]:
    """The topic is made; nobody who reads stdout is no error any more, a full disk is told as 3."""
    try:
        yield
    except BrokenPipeError:
        drop_stdout()
    except OSError as error:
        drop_stdout()
        raise PartialFailure(
            f"topic {escaped(name)} was written, but the result cannot be written to stdout: "
            f"{error.strerror}",
            done=[name],
            hint="do not repeat the command; rackwise snapshot shows the rows",
        ) from None
