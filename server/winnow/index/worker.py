"""A worker: a child process that takes jobs from its standard input and answers with facts.

The only process in which tree-sitter runs. Started by :mod:`winnow.index.workers`; ends with its
standard input, that is with the server, however that has ended.
"""

from __future__ import annotations

import itertools
import sys

import msgspec

from winnow.index.extraction import extract_file
from winnow.index.files import FileFacts, Job, failed
from winnow.text.memory import give_back_free_pages
from winnow.text.serving import serve

# Memory that is free is given back after so many jobs: 0.2 ms, for some 3 MB.
GIVEN_BACK = 8


def main() -> None:
    """Answer jobs until the input ends."""
    encode = msgspec.msgpack.Encoder().encode
    decoder = msgspec.msgpack.Decoder(Job)
    numbers = itertools.count(1)

    def answer(message: bytes) -> bytes:
        found = encode(_answer(decoder.decode(message)))
        if next(numbers) % GIVEN_BACK == 0:
            give_back_free_pages()
        return found

    serve(answer, float(sys.argv[1]))


def _answer(job: Job) -> FileFacts | None:
    try:
        return extract_file(job)
    except (RecursionError, MemoryError) as error:
        return failed(job, f"its facts cannot be taken: {type(error).__name__}")


if __name__ == "__main__":
    main()
