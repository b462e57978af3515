"""Describe the cluster and the branches in it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from winnow.cluster.connection import connected, converted
from winnow.cluster.documents import Branch
from winnow.cluster.shared import branches_of
from winnow.workspace import EngineWorkspace

if TYPE_CHECKING:
    from opensearchpy import AsyncOpenSearch

# Default branches, and all others.
EVERYTHING = ("*", "*@*")
REQUEST_SECONDS = 10.0


class ClusterStatus(Struct, frozen=True):
    """The state of a cluster, and the branches that the token may see. The first five are None if
    the token may not see them; ``bytes`` counts all copies."""

    branches: Sequence[Branch]
    version: str | None = None
    health: str | None = None
    data_nodes: int | None = None
    unassigned_shards: int | None = None
    bytes: int | None = None


async def cluster_status(workspace: EngineWorkspace) -> ClusterStatus:
    """Ask the cluster for its state. Raises ClusterUnavailable."""
    settings, environment = workspace.config.cluster, workspace.environment
    async with connected(settings, environment, seconds=REQUEST_SECONDS) as client:
        branches = await branches_of(client, settings.index, EVERYTHING)
        return ClusterStatus(branches, **await _state(client, settings.index))


class _Version(Struct):
    number: str


class _Info(Struct):
    version: _Version


class _Health(Struct):
    status: str
    number_of_data_nodes: int
    unassigned_shards: int


async def _state(client: AsyncOpenSearch, index: str) -> dict[str, Any]:
    """Return what the token may see of the cluster's state."""
    from opensearchpy.exceptions import AuthorizationException

    found: dict[str, Any] = {}
    with contextlib.suppress(AuthorizationException):
        found["version"] = converted(await client.info(), _Info).version.number
    with contextlib.suppress(AuthorizationException):
        health = converted(await client.cluster.health(index=index), _Health)
        found["health"] = health.status
        found["data_nodes"] = health.number_of_data_nodes
        found["unassigned_shards"] = health.unassigned_shards
    with contextlib.suppress(AuthorizationException):
        stats = await client.indices.stats(index=index, metric="store")
        found["bytes"] = converted(stats["_all"]["total"]["store"]["size_in_bytes"], int)
    return found
