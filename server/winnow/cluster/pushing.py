"""Push a commit of a repository: write what the cluster lacks, and remove what the commit lacks.

Texts are identified by their contents, so a text that is already there, at another path or on
another branch, is not sent again. Texts are added before others are removed, and the commit is
named last: a reader meanwhile finds texts of both commits, and none is lost if the push breaks off.
The next push repairs that.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Struct

from winnow.cluster.connection import ClusterUnavailable
from winnow.cluster.documents import Branch, branch_id
from winnow.cluster.mappings import index_body

if TYPE_CHECKING:
    from opensearchpy import AsyncOpenSearch

# Bytes of a bulk request of more than one text, and requests at a time: more is read when the
# cluster has answered.
BULK_BYTES = 900 * 1024
IN_FLIGHT = 4
# A node that fails is replaced after some seconds; a rejected request is sent again.
ATTEMPTS = 9
FIRST_WAIT, LONGEST_WAIT = 0.5, 15.0
# Statuses of what may work later: too many requests, a conflict, a node or shard that is missing.
AGAIN = frozenset((409, 429, 502, 503, 504))
SCAN = 5_000
_CHANGE = """
ctx._source.locations.removeIf(place -> place.ref == params.ref);
ctx._source.locations.addAll(params.places);
if (ctx._source.locations.isEmpty()) { ctx.op = 'delete' }
"""

# The paths of a text, by branch.
Places = Mapping[str, frozenset[str]]


class TextChange(Struct, frozen=True):
    """A text whose paths on the branch change; ``document`` is given if the cluster lacks it."""

    id: str
    paths: Sequence[str]
    document: Mapping[str, Any] | None = None


class _Operation(NamedTuple):
    """An operation of a bulk request: its lines, and whether it may lack its document."""

    action: bytes
    body: bytes = b""
    may_be_gone: bool = False


class Written(Struct):
    """What a push has written."""

    texts: int = 0
    bytes: int = 0
    retries: int = 0


async def create_index(client: AsyncOpenSearch, name: str) -> None:
    """Create the index and its alias, unless they exist."""
    from opensearchpy.exceptions import RequestError

    if await client.indices.exists_alias(name=name) or await client.indices.exists(index=name):
        return
    try:
        body = {**index_body(), "aliases": {name: {}}}
        await client.indices.create(index=f"{name}-1", body=body)
    except RequestError as error:
        # Another push has just created it.
        if error.error != "resource_already_exists_exception":
            raise


async def known_texts(client: AsyncOpenSearch, index: str, repository: str) -> dict[str, Places]:
    """Return the ids of all texts of a repository, with their paths by branch."""
    # Otherwise the changes of another push may not be seen for seconds.
    await client.indices.refresh(index=index)
    found: dict[str, Places] = {}
    after: list[Any] | None = None
    while True:
        body: dict[str, Any] = {
            "query": {
                "bool": {
                    "filter": [{"term": {"kind": "text"}}, {"term": {"repository": repository}}]
                }
            },
            "sort": [{"key": "asc"}, {"format": "asc"}],
            "size": SCAN,
            "_source": ["locations"],
        }
        if after is not None:
            body["search_after"] = after
        answer = await client.search(index=index, routing=repository, body=body)
        if answer["_shards"]["failed"]:
            raise ClusterUnavailable("a shard of the cluster did not answer")
        hits = answer["hits"]["hits"]
        for hit in hits:
            places: dict[str, set[str]] = {}
            for place in hit["_source"].get("locations", ()):
                places.setdefault(place["ref"], set()).add(place["path"])
            found[hit["_id"]] = {ref: frozenset(paths) for ref, paths in places.items()}
        if len(hits) < SCAN:
            return found
        after = hits[-1]["sort"]


async def write_texts(
    client: AsyncOpenSearch,
    index: str,
    repository: str,
    ref: str,
    changes: AsyncIterator[TextChange],
    written: Written,
) -> None:
    """Write changes of texts in bulk requests, and repeat what fails for now.

    Raises ClusterUnavailable if that doesn't help.
    """
    free = asyncio.Semaphore(IN_FLIGHT)
    tasks: set[asyncio.Task[None]] = set()

    async def send(portion: list[_Operation]) -> None:
        try:
            await _bulk(client, index, portion, written)
        finally:
            free.release()

    async def begin(portion: list[_Operation]) -> None:
        await free.acquire()  # back-pressure: nothing is read while the cluster is busy
        for task in [task for task in tasks if task.done()]:
            tasks.remove(task)
            task.result()
        tasks.add(asyncio.create_task(send(portion)))

    portion: list[_Operation] = []
    size = 0
    try:
        async for change in changes:
            operation = _operation(repository, ref, change)
            added = len(operation.action) + len(operation.body)
            if portion and size + added > BULK_BYTES:
                await begin(portion)
                portion, size = [], 0
            portion.append(operation)
            size += added
        if portion:
            await begin(portion)
        for task in list(tasks):
            await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def name_commit(client: AsyncOpenSearch, index: str, repository: str, branch: Branch) -> None:
    """Make the written texts visible and record the commit of the branch."""
    document = {
        "kind": "branch",
        "repository": repository,
        "ref": branch.ref,
        "branch": msgspec.to_builtins(branch),
    }
    action = {"index": {"_id": branch_id(branch.ref), "routing": repository}}
    operation = _Operation(msgspec.json.encode(action), msgspec.json.encode(document))
    await _bulk(client, index, [operation], Written())
    await _retried(lambda: client.indices.refresh(index=index), Written())


async def remove_branch(client: AsyncOpenSearch, index: str, repository: str, ref: str) -> None:
    """Remove the state of a branch, without which searches find none of its texts."""
    action = {"delete": {"_id": branch_id(ref), "routing": repository}}
    operation = _Operation(msgspec.json.encode(action), may_be_gone=True)
    await _bulk(client, index, [operation], Written())
    await _retried(lambda: client.indices.refresh(index=index), Written())


def _operation(repository: str, ref: str, change: TextChange) -> _Operation:
    """Return the operation that changes the paths of a text."""
    places = [{"ref": ref, "path": path} for path in change.paths]
    action = {"_id": change.id, "routing": repository, "retry_on_conflict": 5}
    body: dict[str, Any] = {
        "script": {"source": _CHANGE, "params": {"ref": ref, "places": places}},
    }
    if change.document is not None:
        body["upsert"] = {**change.document, "locations": places}
    encode = msgspec.json.encode
    return _Operation(encode({"update": action}), encode(body), may_be_gone=not places)


async def _bulk(
    client: AsyncOpenSearch, index: str, operations: list[_Operation], written: Written
) -> None:
    """Send operations until each has succeeded. Each may be repeated without harm."""
    left, wait = operations, FIRST_WAIT
    for attempt in range(1, ATTEMPTS + 1):
        sent = b"".join(b"%s\n" % line for one in left for line in one[:2] if line)
        answer = await _retried(lambda sent=sent: client.bulk(index=index, body=sent), written)
        again = []
        for operation, item in zip(left, answer["items"], strict=True):
            [outcome] = item.values()
            status = outcome["status"]
            if status in AGAIN:
                again.append(operation)
            elif status == 404 and operation.may_be_gone:
                continue
            elif status == 404:
                raise ClusterUnavailable("another push has just removed a text: push again")
            elif status >= 300:
                reason = str(outcome.get("error", {}).get("reason", ""))[:300]
                raise ClusterUnavailable(f"the cluster refused a text ({status}): {reason}")
            else:
                written.texts += 1
                written.bytes += len(operation.body)
        if not again:
            return
        if attempt == ATTEMPTS:
            break
        written.retries += 1
        left, wait = again, await _waited(wait)
    raise ClusterUnavailable(f"the cluster is too busy: it refused a text {ATTEMPTS} times")


async def _retried(request: Any, written: Written) -> Any:
    """Make a request, again if the cluster cannot answer it now."""
    from opensearchpy.exceptions import ConnectionError as NotConnected
    from opensearchpy.exceptions import TransportError

    wait = FIRST_WAIT
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return await request()
        except TransportError as error:
            is_temporary = isinstance(error, NotConnected) or error.status_code in AGAIN
            if not is_temporary or attempt == ATTEMPTS:
                raise
        written.retries += 1
        wait = await _waited(wait)
    raise AssertionError


async def _waited(seconds: float) -> float:
    """Wait about this long, and return how long to wait next time."""
    await asyncio.sleep(seconds * random.uniform(0.7, 1.3))  # noqa: S311 - spreads the load
    return min(2 * seconds, LONGEST_WAIT)


def changed_paths(
    wanted: Mapping[str, Iterable[str]], known: Mapping[str, Places], ref: str
) -> tuple[list[str], dict[str, frozenset[str]]]:
    """Return the ids of the wanted texts that the cluster lacks, and the new paths of those that
    it has at others; no paths for a text that the branch has no more."""
    new = [id_ for id_ in wanted if id_ not in known]
    moved = {
        id_: frozenset(wanted.get(id_, ()))
        for id_, places in known.items()
        if places.get(ref, frozenset()) != frozenset(wanted.get(id_, ()))
    }
    return new, moved
