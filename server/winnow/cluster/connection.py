"""Connect to the cluster with the official client.

Only the user's settings name the address, and only the environment or the system's keyring has the
token. Certificates are verified. Everything that can go wrong becomes a ClusterUnavailable.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import logging
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from winnow.config import ClusterSettings
from winnow.privacy.outbound import is_this_machine
from winnow.processes.waiting import run_to_end

if TYPE_CHECKING:
    from opensearchpy import AIOHttpConnection, AsyncOpenSearch

KEYRING_SERVICE = "winnow"
INSTALL = "the search cluster needs the extra: pip install 'winnow-ls[cluster]'"

# aiohttp warns of larger bodies in bytes.
RAW_BYTES = 1024 * 1024

T = TypeVar("T")


class ClusterUnavailable(Exception):
    """The cluster cannot answer; the message says why, without addresses of proxies or tokens."""


def address_problem(settings: ClusterSettings) -> str | None:
    """Return why the addresses cannot be used; None if they can."""
    if not settings.addresses:
        return "no cluster is configured: set `cluster.addresses` in your user settings"
    for address in settings.addresses:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            return "`cluster.addresses` must be http or https addresses without a password"
        if parts.scheme == "http" and not is_this_machine(address):
            return "`cluster.addresses`: an address of another machine must begin with https://"
    return None


@contextlib.asynccontextmanager
async def connected(
    settings: ClusterSettings, environment: Mapping[str, str], *, seconds: float, retries: int = 1
) -> AsyncIterator[AsyncOpenSearch]:
    """Open a connection in which a request takes at most some ``seconds``.

    Raises ClusterUnavailable, also for errors in the block.
    """
    if problem := address_problem(settings):
        raise ClusterUnavailable(problem)
    try:
        from opensearchpy import AsyncOpenSearch
    except ImportError as error:
        raise ClusterUnavailable(INSTALL) from error
    # The client logs each failure with its address, and a traceback.
    logging.getLogger("opensearch").setLevel(logging.CRITICAL)
    token = await _token(settings, environment)
    options: dict[str, Any] = {}
    if any(address.startswith("https:") for address in settings.addresses):
        options["ssl_context"] = _context(settings)
    client = AsyncOpenSearch(
        hosts=list(settings.addresses),
        headers={"authorization": _authorization(token)} if token else {},
        timeout=seconds,
        max_retries=retries if len(settings.addresses) == 1 else len(settings.addresses) - 1,
        retry_on_timeout=False,
        retry_on_status=(502, 503, 504),
        http_compress=False,
        connection_class=_connection_class(),
        trust_env=False,  # nothing goes to a proxy of the environment
        **options,
    )
    try:
        with _understood():
            yield client
    finally:
        await run_to_end(_close(client))


async def _close(client: AsyncOpenSearch) -> None:
    # The client closes only its connections to nodes that are up.
    pool = client.transport.connection_pool
    for connection in getattr(pool, "orig_connections", pool.connections):
        await connection.close()
    await client.close()


def _connection_class() -> type[AIOHttpConnection]:
    from opensearchpy import AIOHttpConnection

    class Connection(AIOHttpConnection):
        """A connection that can send a large body: aiohttp reads bytes all at once."""

        async def perform_request(self, *arguments: Any, **options: Any) -> Any:
            method, url, params, body, *more = arguments
            if body and len(body) > RAW_BYTES:
                body = io.BytesIO(body)
            return await super().perform_request(method, url, params, body, *more, **options)

    return Connection


def _context(settings: ClusterSettings) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=settings.certificates)
    except (OSError, ssl.SSLError) as error:
        raise ClusterUnavailable(f"`cluster.certificates` cannot be used: {error}") from error


def _authorization(token: str) -> str:
    """Return the header's value: Basic for `user:password`, else Bearer."""
    if ":" in token:
        return f"Basic {base64.b64encode(token.encode()).decode()}"
    return f"Bearer {token}"


async def _token(settings: ClusterSettings, environment: Mapping[str, str]) -> str:
    """Return the token of the environment or the keyring; empty if there is none."""
    if token := environment.get(settings.token_env):
        return token
    host = urlsplit(settings.addresses[0]).hostname or ""
    if is_this_machine(settings.addresses[0]):
        return ""
    return await asyncio.to_thread(_from_keyring, host)


def _from_keyring(host: str) -> str:
    try:
        import keyring
    except ImportError:
        return ""
    try:
        return keyring.get_password(KEYRING_SERVICE, host) or ""
    except Exception:  # its backends raise what they like
        return ""


@contextlib.contextmanager
def _understood() -> Iterator[None]:
    """Turn the errors of the client into ClusterUnavailable."""
    from opensearchpy import exceptions

    try:
        yield
    except (exceptions.AuthenticationException, exceptions.AuthorizationException) as error:
        raise ClusterUnavailable(f"the cluster refused the token ({error.status_code})") from error
    except exceptions.NotFoundError as error:
        raise ClusterUnavailable("the cluster has no such index: see `cluster.index`") from error
    except exceptions.SSLError as error:
        raise ClusterUnavailable("the cluster's certificate cannot be verified") from error
    except exceptions.ConnectionTimeout as error:
        raise ClusterUnavailable("the cluster did not answer in time") from error
    except exceptions.ConnectionError as error:
        if isinstance(error.info, UnicodeDecodeError):
            raise ClusterUnavailable("the cluster's answer cannot be understood") from error
        raise ClusterUnavailable("the cluster cannot be reached") from error
    except exceptions.TransportError as error:
        raise ClusterUnavailable(f"the cluster failed ({error.status_code})") from error
    except (exceptions.OpenSearchException, msgspec.MsgspecError) as error:
        raise ClusterUnavailable("the cluster's answer cannot be understood") from error


def converted(answer: object, kind: type[T]) -> T:
    """Return an answer of the cluster as a struct. Raises ClusterUnavailable."""
    try:
        return msgspec.convert(answer, kind, strict=True)
    except msgspec.ValidationError as error:
        raise ClusterUnavailable("the cluster's answer cannot be understood") from error
