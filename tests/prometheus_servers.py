"""A real node_exporter and a real Prometheus on loopback, each of a test's own."""

from __future__ import annotations

import re
import socket
import subprocess
import time
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import prometheus_tools
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse

START_S = 30


def program(names):
    """The path of a program of `prometheus_tools`."""
    path = prometheus_tools.found(names)
    assert path is not None, prometheus_tools.missing()
    return path


def free_address():
    """An address on loopback that no process listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


class Server:
    """A process with an HTTP address on loopback."""

    def __init__(self, command, log):
        self._log = log.open("wb")
        self._process = subprocess.Popen(command, stdout=self._log, stderr=self._log)

    def answer(self, url):
        """What the server sends, once it has started."""
        end = time.monotonic() + START_S
        while True:
            try:
                with urlopen(url, timeout=START_S) as answer:  # noqa: S310 (a loopback address)
                    return answer.read().decode()
            except HTTPError as error:
                if error.code != 503:
                    raise
            except URLError:
                assert self._process.poll() is None, f"{self._process.args[0]} has ended"
            assert time.monotonic() < end, f"{self._process.args[0]} does not answer"
            time.sleep(0.05)

    def close(self):
        self._process.terminate()
        self._process.wait(START_S)
        self._log.close()


class Exporter(Server):
    """A node_exporter that reads the files of one folder, and nothing of the host."""

    def __init__(self, folder):
        self.address = free_address()
        super().__init__(
            [
                program(prometheus_tools.NODE_EXPORTER),
                f"--web.listen-address={self.address}",
                "--web.disable-exporter-metrics",
                "--collector.disable-defaults",
                "--collector.textfile",
                f"--collector.textfile.directory={folder}",
            ],
            folder / "node_exporter.log",
        )

    def scraped(self):
        """(name, labels) -> value of all that it serves, and whether it could read each file."""
        text = self.answer(f"http://{self.address}/metrics")
        fault = re.search(r"^node_textfile_scrape_error (\S+)$", text, re.MULTILINE)
        ours = re.findall(r"^(rackwise_\w+)(?:\{(.*)\})? (\S+)$", text, re.MULTILINE)
        return {
            (name, labels_of(labels)): float(value) for name, labels, value in ours
        }, fault is not None and fault[1] == "0"


def labels_of(text):
    pairs = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', text)
    plain = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
    return tuple(
        sorted((key, re.sub(r"\\.", lambda code: plain[code[0]], value)) for key, value in pairs)
    )


class Prometheus(Server):
    """A Prometheus that scrapes these addresses, and evaluates these rules, every second."""

    def __init__(self, folder, *, targets, rules):
        self.address = free_address()
        config = folder / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
            f"rule_files: [{rules}]\n"
            "scrape_configs:\n"
            f"  - {{job_name: node, static_configs: [{{targets: [{', '.join(targets)}]}}]}}\n"
        )
        super().__init__(
            [
                program(prometheus_tools.PROMETHEUS),
                f"--config.file={config}",
                f"--storage.tsdb.path={folder / 'tsdb'}",
                f"--web.listen-address={self.address}",
            ],
            folder / "prometheus.log",
        )

    def _data(self, path, **query):
        url = f"http://{self.address}/api/v1/{path}?{urlencode(query)}"
        told = parse(self.answer(url).encode(), where=path, error=InvalidConfig)
        assert told["status"] == "success", told
        return told["data"]

    def samples(self, expression):
        """Labels and value of each sample of a query."""
        data = self._data("query", query=expression)
        return [(each["metric"], each["value"][1]) for each in data["result"]]

    def firing(self):
        """(name, cluster) of each alert that fires."""
        return {
            (each["labels"]["alertname"], each["labels"].get("cluster"))
            for each in self._data("alerts")["alerts"]
            if each["state"] == "firing"
        }
