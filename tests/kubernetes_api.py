"""Objects of Kubernetes, and a stand-in for its API that serves them over HTTPS on loopback.

A real API server needs etcd and does not start here. The stand-in serves the objects that a test
gives it, which `kubernetes-validate` accepts, with the paths, pages and errors of the real API. It
proves how the client connects, logs in and asks for pages; it does not prove what a kubelet writes.
"""

from __future__ import annotations

import json
import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import kubernetes_validate
import trustme

VERSION = "1.32"
ZONE = "topology.kubernetes.io/zone"
LISTS = {"nodes": ("NodeList", "v1"), "pods": ("PodList", "v1"), "jobs": ("JobList", "batch/v1")}
_IMAGE = {"name": "main", "image": "registry.example/app:1"}


def node(name, zone=None, address="10.0.0.1", **labels):
    """A node, valid by the schema of the API."""
    zones = {ZONE: zone} if zone else {}
    return _valid(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {"kubernetes.io/hostname": name, **zones, **labels},
                "creationTimestamp": "2026-11-01T00:00:00Z",
            },
            "status": {
                "addresses": [
                    {"type": "InternalIP", "address": address},
                    {"type": "Hostname", "address": name},
                ]
            },
        }
    )


def pod(
    name,
    *,
    on="n1",
    addresses=("10.1.0.7",),
    namespace="shop",
    owner=None,
    labels=None,
    start="2026-11-26T09:00:00Z",
    phase="Running",
    finished=None,
    has_host_network=False,
):
    """A pod, valid by the schema of the API; `owner`: (kind, name) of its controller."""
    references = [
        {
            "apiVersion": "apps/v1",
            "kind": kind,
            "name": of,
            "uid": "u",
            "controller": True,
        }
        for kind, of in [owner] * bool(owner)
    ]
    status = {"phase": phase}
    if addresses:
        status |= {"podIP": addresses[0], "podIPs": [{"ip": each} for each in addresses]}
    if start:
        status["startTime"] = start
    if finished:
        ended = {"exitCode": 0, "finishedAt": finished}
        status["containerStatuses"] = [
            {
                "name": "main",
                "image": _IMAGE["image"],
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": {"terminated": ended},
            }
        ]
    return _valid(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": labels or {},
                "ownerReferences": references,
            },
            "spec": {
                "containers": [_IMAGE],
                **({"nodeName": on} if on else {}),
                **({"hostNetwork": True} if has_host_network else {}),
            },
            "status": status,
        }
    )


def job(name, *, cron_job, namespace="shop"):
    """A Job of a CronJob, valid by the schema of the API."""
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": cron_job, "uid": "u"}
    return _valid(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "ownerReferences": [{**owner, "controller": True}],
            },
            "spec": {
                "template": {"spec": {"containers": [_IMAGE], "restartPolicy": "Never"}},
            },
        }
    )


def kubectl_list(*objects):
    """What `kubectl get nodes,pods -A -o json` prints of these objects, as bytes."""
    document = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}}
    return json.dumps({**document, "items": objects}, indent=4).encode()


def _valid(found):
    kubernetes_validate.validate(found, VERSION)
    return found


class StandInApi:
    """What the stand-in serves, and what it was asked for."""

    def __init__(self, objects, *, token, forbidden=()):
        self.objects = {f"{kind}s": [] for kind in ("node", "pod", "job")}
        for each in objects:
            self.objects[f"{each['kind'].lower()}s"].append(each)
        self.token = token
        self.forbidden = set(forbidden)
        self.asked = []
        self.url = None
        """Where it is served."""
        self.cuts_answers = False
        """Whether it closes the connection in the middle of an answer."""
        self.page = 2
        """Objects per answer, however many the client asks for."""

    def answer(self, path, query, token):
        """Status and document for a request."""
        self.asked.append((path, query))
        if token != f"Bearer {self.token}":
            return 401, _status(401, "Unauthorized")
        namespace, kind = _namespace(path), _kind(path)
        if kind not in self.objects:
            return 404, _status(404, "NotFound")
        if kind in self.forbidden:
            return 403, _status(403, "Forbidden")
        found = [
            each
            for each in self.objects[kind]
            if namespace is None or each["metadata"]["namespace"] == namespace
        ]
        first = int(query.get("continue", ["0"])[0])
        rest = len(found) - first - self.page
        # Items of a typed list name no kind, as those of the real API.
        items = [
            {key: value for key, value in each.items() if key not in {"kind", "apiVersion"}}
            for each in found[first : first + self.page]
        ]
        more = {"continue": str(first + self.page), "remainingItemCount": rest} if rest > 0 else {}
        name, version = LISTS[kind]
        metadata = {"resourceVersion": "1", **more}
        return 200, {"kind": name, "apiVersion": version, "metadata": metadata, "items": items}


@contextmanager
def served(api, folder, *, host="127.0.0.1"):
    """Serve the API; yields the path of a kubeconfig for it."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(host).configure_cert(context)
    server = ThreadingHTTPServer((host, 0), _handler(api))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        certificate = folder / "kubernetes-ca.pem"
        authority.cert_pem.write_to_path(certificate)
        api.url = f"https://{host}:{server.server_port}"
        yield kubeconfig(folder, api.url, certificate, token=api.token)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def kubeconfig(folder, url, certificate, *, token):
    """Write a kubeconfig with one context, `here`; its path."""
    path = folder / "kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "c", "cluster": {"server": url, "certificate-authority": str(certificate)}}
        ],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "here",
    }
    path.write_text(json.dumps(document))
    return path


def _handler(api):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            parts = urlsplit(self.path)
            found = api.answer(parts.path, parse_qs(parts.query), self.headers["Authorization"])
            data = json.dumps(found[1]).encode()
            self.send_response(found[0])
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if api.cuts_answers else data)

        def log_message(self, *_):
            """Say nothing: the tests read stderr."""

    return Handler


def _kind(path):
    return path.rpartition("/")[2]


def _namespace(path):
    steps = path.split("/")
    return steps[steps.index("namespaces") + 1] if "namespaces" in steps else None


def _status(code, reason):
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason,
        "code": code,
    }
