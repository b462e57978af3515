"""A real search cluster on this machine: two data nodes and a manager, each in a process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from winnow.config import ClusterSettings, Config
from winnow.search.shared.push import Pushed, push
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

DATA_NODES = ("1", "2")
MANAGER = "3"
# Of a data node, and of the manager.
HEAP, SMALL_HEAP = "256m", "160m"
START_SECONDS = 180


def installed() -> Path | None:
    """Return the folder with OpenSearch, see install_cluster in scripts/environment."""
    folder = Path(os.environ.get("WINNOW_OPENSEARCH", "/nowhere"))
    return folder if (folder / "complete").exists() and shutil.which("java") else None


def free_ports(count: int) -> list[int]:
    """Return ports that no program listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    """Nodes of OpenSearch, each in a process of its own."""

    def __init__(self, software: Path, folder: Path) -> None:
        self._software = software
        self._folder = folder
        names = (*DATA_NODES, MANAGER)
        ports = free_ports(2 * len(names))
        self._http = dict(zip(names, ports[: len(names)], strict=True))
        self._transport = dict(zip(names, ports[len(names) :], strict=True))
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of the data nodes."""
        return tuple(f"http://127.0.0.1:{self._http[name]}" for name in DATA_NODES)

    def settings(self, **changes: Any) -> ClusterSettings:
        """Return the settings of a user; a busy machine gets time to answer."""
        return ClusterSettings(**{"addresses": self.addresses, "seconds": 20.0, **changes})

    def start(self, *names: str) -> None:
        """Start nodes that are not running."""
        seeds = ",".join(f"127.0.0.1:{port}" for port in self._transport.values())
        for name in names:
            heap = SMALL_HEAP if name == MANAGER else HEAP
            home = self._folder / name
            home.mkdir(parents=True, exist_ok=True)
            settings = {
                "path.home": home,
                "node.name": name,
                "node.roles": "cluster_manager" if name == MANAGER else "data,ingest",
                "cluster.name": "winnow-tests",
                "network.host": "127.0.0.1",
                "http.port": self._http[name],
                "transport.port": self._transport[name],
                "discovery.seed_hosts": seeds,
                "cluster.initial_cluster_manager_nodes": MANAGER,
                "cluster.routing.allocation.disk.threshold_enabled": "false",
                # A replica is on its node again as soon as the node is.
                "cluster.join.timeout": "30s",
            }
            with (home / "log").open("ab") as log:
                self._processes[name] = subprocess.Popen(
                    [
                        "java",
                        *(f"-Xms{heap}", f"-Xmx{heap}", "-XX:+UseSerialGC"),
                        # Half the time to start: these processes live for minutes.
                        "-XX:TieredStopAtLevel=1",
                        "-Dlog4j2.disable.jmx=true",
                        *("-cp", f"{self._software}/classes:{self._software}/lib/*"),
                        "ClusterNode",
                        *(f"{key}={value}" for key, value in settings.items()),
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )

    def start_missing(self) -> None:
        """Start the nodes that have been killed, and wait until the cluster is complete."""
        self.start(*(name for name in self._http if name not in self._processes))
        self.wait()

    def kill(self, name: str) -> None:
        """Kill a node as a crash does."""
        process = self._processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def wait(self, status: str = "green", nodes: int = 3) -> None:
        """Wait until the cluster has this status and number of nodes."""
        end = time.monotonic() + START_SECONDS
        health: object = None
        while time.monotonic() < end:
            for process in self._processes.values():
                if process.poll() is not None:
                    pytest.fail(f"a node has ended: {self.log()}")
            try:
                health = self.request("GET", "/_cluster/health")
            except OSError:
                health = None
            if (
                isinstance(health, dict)
                and health["number_of_nodes"] == nodes
                and health["status"] in (status, "green")
            ):
                return
            time.sleep(0.25)
        pytest.fail(f"the cluster is not ready: {health} {self.log()}")

    def request(self, method: str, path: str, body: object = None) -> Any:
        """Make a request as the administrator. Raises OSError."""
        running = next(name for name in DATA_NODES if name in self._processes)
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._http[running]}{path}",
            None if body is None else json.dumps(body).encode(),
            {"content-type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")

    def clear(self) -> None:
        """Delete all indices."""
        for found in self.request("GET", "/_cat/indices?format=json&h=index"):
            self.request("DELETE", f"/{found['index']}")

    def memory(self) -> dict[str, int]:
        """Return the resident bytes of each node, on Linux."""
        found = {}
        for name, process in self._processes.items():
            status = Path(f"/proc/{process.pid}/status").read_text()
            found[name] = 1024 * int(status.partition("VmRSS:")[2].split()[0])
        return found

    def log(self) -> str:
        """Return the last lines of the nodes' logs."""
        texts = (
            (self._folder / name / "log").read_text("utf-8", "replace")[-1_500:]
            for name in (*DATA_NODES, MANAGER)
            if (self._folder / name / "log").exists()
        )
        return "\n---\n".join(texts)

    def stop(self) -> None:
        """Kill all nodes."""
        for name in list(self._processes):
            self.kill(name)


async def pushed(
    cluster: Cluster, folder: Path, repository: str, commit: str = "c1", branch: str = ""
) -> Pushed:
    """Push a folder."""
    workspace = EngineWorkspace([folder], Config(cluster=cluster.settings()))
    try:
        return await push(workspace, repository, commit, branch, no_progress)
    finally:
        await workspace.aclose()


@asynccontextmanager
async def workspace_of(
    folder: Path, settings: ClusterSettings, **environment: str
) -> AsyncIterator[EngineWorkspace]:
    """Open a workspace with a cluster."""
    config = Config(cluster=settings)
    home = {"HOME": str(folder.parent / "home"), "PATH": "/usr/bin:/bin"}
    workspace = EngineWorkspace([folder], config, {**home, **environment})
    try:
        yield workspace
    finally:
        await workspace.aclose()
