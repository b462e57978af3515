"""Writing changes to the store of a folder: the sizes of transactions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeWorkspace, built, git_init, write_files
from winnow.index.builder import writing
from winnow.index.postings.building import MOST_DOCUMENTS
from winnow.index.store.file_record import FileRecord
from winnow.index.store.store import Store


@pytest.mark.parametrize("many_new", [0, 1_000], ids=["texts first", "one pass"])
async def test_a_transaction_has_a_limited_number_of_files(
    make_workspace: MakeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many_new: int
) -> None:
    """Many tiny files stay below the limits of bytes and seconds, and a segment has a limit."""
    sizes: list[int] = []
    write = Store.write

    def recorded(
        store: Store, batch: Mapping[str, FileRecord], gone: Iterable[str] = (), *more: Any
    ) -> None:
        sizes.append(len(batch))
        write(store, batch, gone, *more)

    monkeypatch.setattr(Store, "write", recorded)
    monkeypatch.setattr(writing, "MANY_NEW", many_new)
    monkeypatch.setattr(writing, "BATCH_SECONDS", 60.0)
    monkeypatch.setattr(writing, "BATCH_FILES", 7)
    files = {f"m{number}.py": f"value_{number} = 1\n" for number in range(20)}
    await built(make_workspace(write_files(git_init(tmp_path / "p"), files)))
    assert sizes == [7, 7, 6] * (1 if many_new else 2)


def test_a_segment_has_room_for_a_transaction() -> None:
    assert writing.BATCH_FILES <= MOST_DOCUMENTS
