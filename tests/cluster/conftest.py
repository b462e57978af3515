"""The cluster of a session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster.nodes import DATA_NODES, MANAGER, Cluster, installed
from conftest import CI


@pytest.fixture(scope="session")
def started_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start the cluster once."""
    software = installed()
    if software is None:
        reason = "OpenSearch or Java is not installed: see install_cluster in scripts/environment"
        if CI:
            pytest.fail(reason)
        pytest.skip(reason)
    cluster = Cluster(software, tmp_path_factory.mktemp("cluster"))
    cluster.start(*DATA_NODES, MANAGER)
    try:
        cluster.wait()
        yield cluster
    finally:
        cluster.stop()


# A function-scoped fixture could not start a node again: see `leftovers`.
@pytest.fixture(scope="class")
def cluster(started_cluster: Cluster) -> Cluster:
    """Return an empty cluster; the nodes that the previous test has killed run again."""
    started_cluster.start_missing()
    started_cluster.clear()
    return started_cluster
