"""The user's consent to send queries to a cluster.

It is for all workspaces, and for one address: it is asked once for each.
"""

from __future__ import annotations

from winnow.cluster.connection import ClusterUnavailable, address_problem
from winnow.privacy.outbound import destination_of, is_this_machine
from winnow.workspace import EngineWorkspace

# In place of a workspace.
SCOPE = ("search cluster",)


def problem(workspace: EngineWorkspace) -> str | None:
    """Return why queries may not be sent to the cluster, and what to do; None if they may."""
    consents = workspace.models.egress.consents
    for address in workspace.config.cluster.addresses:
        destination = destination_of(address)
        if not is_this_machine(address) and not consents.given(SCOPE, destination):
            return (
                f"you have not consented to send queries to {destination}: run `winnow cluster"
                " consent`"
            )
    return None


def give(workspace: EngineWorkspace) -> list[str]:
    """Store consent to the addresses of the settings, and return them. Raises
    ClusterUnavailable and OSError."""
    destinations = _destinations(workspace)
    workspace.models.egress.consents.give(SCOPE, destinations)
    return destinations


def withdraw(workspace: EngineWorkspace) -> list[str]:
    """Withdraw the consent to all addresses, and return those of the settings. Raises
    ClusterUnavailable and OSError."""
    destinations = _destinations(workspace)
    workspace.models.egress.consents.withdraw(SCOPE)
    return destinations


def _destinations(workspace: EngineWorkspace) -> list[str]:
    settings = workspace.config.cluster
    if why := address_problem(settings):
        raise ClusterUnavailable(why)
    return list(dict.fromkeys(map(destination_of, settings.addresses)))
