"""A Kubernetes cluster, read through the official client: its nodes, pods and jobs.

The client finds the cluster: a kubeconfig (`KUBECONFIG`, else `~/.kube/config`), or the service
account of the pod that runs this process. It is asked for raw JSON, which `files.tables.kubernetes`
reads as it reads the output of kubectl, so that both have the same rows.

A cluster that does not permit to list jobs is read without them; then the owner of the pod of a Job
is the Job. Nodes and pods are required: `get` and `list` on `nodes` and `pods` of the core API.

What this does not do: write; watch.
"""

from __future__ import annotations

import os
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError
from yaml import MarkedYAMLError, YAMLError

from rackwise.adapters.files.tables.kubernetes import check_nodes, joined, parse_list
from rackwise.core.errors import (
    AuthenticationFailed,
    InvalidConfig,
    MissingPermission,
    ServerRefused,
    Unreachable,
)
from rackwise.core.text import escaped
from rackwise.core.tls_faults import TlsHints, tls_fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rackwise.core.inventory.kubernetes import KubernetesListing

Connection: TypeAlias = Any
"""An `ApiClient`; the package has no types."""

PAGE = 500
"""Objects in one answer, as kubectl asks for them."""
TIMEOUT_S = (10.0, 60.0)
"""Maximum time to connect, and to wait for bytes of an answer."""
DEFAULT_KUBECONFIG = "~/.kube/config"
_TLS_HINTS = TlsHints(
    address="`server` of the cluster in the kubeconfig",
    authority="set certificate-authority of the cluster in the kubeconfig",
    own="set client-certificate and client-key of the user in the kubeconfig to a certificate that "
    "the cluster trusts, and check its dates",
)
SETUP = "set KUBECONFIG or --context, or run in a pod with a service account"


def open_kubernetes(context: str | None) -> Connection:
    """A client of the cluster: of a context of the kubeconfig, by default the current one.

    If there is no kubeconfig, the service account of the pod that runs this process is used.

    Raises `InvalidConfig` if there is no such context, no configuration, or a damaged one.
    """
    settings = client.Configuration()
    settings.retries = False  # a retry is logged to stderr, and the next run is one anyway
    # The client reads the variable only when it is imported.
    files = os.environ.get("KUBECONFIG") or DEFAULT_KUBECONFIG
    has_file = any(Path(each).expanduser().exists() for each in files.split(os.pathsep) if each)
    try:
        if has_file or context is not None:
            config.load_kube_config(
                config_file=files,
                context=context,
                client_configuration=settings,
                persist_config=False,
            )
        else:
            config.load_incluster_config(client_configuration=settings)
    except config.ConfigException as error:
        raise _no_config(str(error)) from None
    except OSError as error:
        raise _no_config(f"{files}: {error.strerror}") from None
    except (YAMLError, TypeError, KeyError, AttributeError, ValueError) as error:
        # The client does not check what it reads. The text of the error may quote a token.
        raise _no_config(f"{files} is no kubeconfig{_line(error)}") from None
    return client.ApiClient(settings)


def read_kubernetes(connection: Connection, *, namespace: str | None) -> KubernetesListing:
    """All nodes, and the pods and jobs of one namespace or of all.

    Raises `AuthenticationFailed`, `MissingPermission`, `Unreachable`, `ServerRefused`, and
    `InvalidAddresses` for an answer that is no list of them.
    """
    core, batch = client.CoreV1Api(connection), client.BatchV1Api(connection)
    pods: Callable[..., Any]
    jobs: Callable[..., Any]
    if namespace is None:
        pods, jobs = core.list_pod_for_all_namespaces, batch.list_job_for_all_namespaces
    else:
        pods, jobs = core.list_namespaced_pod, batch.list_namespaced_job
    where = f"the answer of {connection.configuration.host}"
    own = {} if namespace is None else {"namespace": namespace}
    found = [*_pages("nodes", core.list_node, {}, where), *_pages("pods", pods, own, where)]
    with suppress(MissingPermission):  # the pods of jobs then have the jobs as owners
        found += _pages("jobs", jobs, own, where)
    listing = joined(found)
    check_nodes(listing, where=where)
    return listing


def _pages(
    what: str, ask: Callable[..., Any], own: dict[str, str], where: str
) -> Iterator[KubernetesListing]:
    token = ""
    while True:
        page = {"limit": PAGE, **({"_continue": token} if token else {})}
        try:
            answer = ask(**own, **page, _preload_content=False, _request_timeout=TIMEOUT_S)
            data = answer.data
        except ApiException as error:
            raise _refused(what, error, where) from None
        except HTTPError as error:
            raise _unreachable(where, error, str(error)) from None
        listing, token = parse_list(data, where=where)
        yield listing
        if not token:
            return


def _unreachable(where: str, error: Exception, said: str) -> Unreachable:
    """`said`: the text of an error that is not of TLS."""
    fault = tls_fault(error)
    reason = escaped(" ".join(said.split())) if fault is None else fault.text
    return Unreachable(
        f"cannot get {escaped(where)}: {reason}",
        wanted="an answer",
        had=reason,
        hint=_TLS_HINTS.of(
            error,
            otherwise="check the address and the certificate of the cluster in the kubeconfig, and "
            "the way to it",
        ),
    )


def _refused(what: str, error: ApiException, where: str) -> Exception:
    if not error.status:  # an error of TLS
        return _unreachable(where, error, str(error.reason))
    if error.status == HTTPStatus.UNAUTHORIZED:
        return AuthenticationFailed(
            "the Kubernetes API did not accept the credentials",
            wanted="valid credentials",
            had=error.status,
            hint="log in again, for example with the command of your cloud, or renew the token",
        )
    if error.status == HTTPStatus.FORBIDDEN:
        return MissingPermission(
            f"the Kubernetes API does not permit to list {what}",
            wanted=f"list {what}",
            had=error.status,
            hint=f"grant the verb list on {what}, or read a file that kubectl wrote",
        )
    return ServerRefused(
        f"the Kubernetes API did not list {what}: {error.status} {escaped(str(error.reason))}",
        wanted=HTTPStatus.OK.value,
        had=error.status,
        hint="run `kubectl get nodes,pods -A` to see whether the API works",
    )


def _line(error: Exception) -> str:
    mark = error.problem_mark if isinstance(error, MarkedYAMLError) else None
    return "" if mark is None else f": line {mark.line + 1} is no YAML"


def _no_config(reason: str) -> InvalidConfig:
    return InvalidConfig(
        f"cannot find a Kubernetes cluster: {escaped(reason)}",
        wanted="a kubeconfig or a service account",
        had=reason,
        hint=f"{SETUP}, or name a file that `kubectl get nodes,pods -A -o json` wrote",
    )
