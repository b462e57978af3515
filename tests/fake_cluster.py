"""A search cluster with one repository, for tests of editors: `python tests/fake_cluster.py`.

Prints its address, and runs until its standard input ends. It finds all its texts, whatever the
query is, or the one at a path.
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BRANCH = {
    "ref": "team/parts",
    "commit": "c1",
    "pushed_at": "2026-11-27T00:00:00.000Z",
    "format": "",
    "files": 2,
    "bytes": 1,
    "masked": 0,
    "skipped": {},
}
TEXTS = {
    "src/parts.py": "PART_BYTES = 1024\n\n\ndef split_parts(data):\n    return data[:PART_BYTES]\n",
    "README.md": "# Parts\n\nWhat split_parts does.\n",
}


def source_of(path: str) -> dict[str, Any]:
    """Return the document of a text."""
    return {
        "repository": BRANCH["ref"],
        "locations": [{"ref": BRANCH["ref"], "path": path}],
        "passages": [{"text": TEXTS[path]}],
    }


def path_in(query: Any) -> str | None:
    """Return the path that a query requires."""
    if isinstance(query, dict):
        found = query.get("locations.path")
        if isinstance(found, str):
            return found
        query = list(query.values())
    if isinstance(query, list):
        return next(filter(None, map(path_in, query)), None)
    return None


def hits(sources: list[Any]) -> dict[str, Any]:
    """Return the answer with these documents."""
    found = [{"_source": source} for source in sources]
    return {"hits": {"hits": found, "total": {"value": len(found)}}, "_shards": {"failed": 0}}


class Handler(BaseHTTPRequestHandler):
    """Answers requests for several searches, of which the second is for texts."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a request."""
        body = self.rfile.read(int(self.headers["content-length"]))
        *_, search = map(json.loads, filter(None, body.split(b"\n")))
        path = path_in(search["query"])
        texts = [source_of(each) for each in TEXTS if path in (None, each)]
        answer = json.dumps({"responses": [hits([{"branch": BRANCH}]), hits(texts)]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    sys.stdin.read()
