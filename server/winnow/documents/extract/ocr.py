"""Characters in pictures to text, with RapidOCR: it runs on the processor alone, and its wheel
brings the models along, so that nothing is fetched when it is used. Heavy, and therefore an extra:
``winnow-ls[ocr]``.
"""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from winnow.documents.unreadable import Unreadable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A page of A4 has about 170 dots an inch then, which is enough for print.
LONGEST_SIDE = 2000
MISSING = "recognition of characters is not installed: pip install 'winnow-ls[ocr]'"
# More threads gain little for one page, and others want to work, too.
_THREADS = 2
# Measured with pages of manuals. Lines are looked for in a smaller picture: in a large one, a page
# of a single line has none. Without the model that turns lines upside down, 98 words of 100 are
# right instead of 95: it turns some that stand upright. One line at a time is as fast as six, with
# 560 MB of memory instead of 900.
_SETTINGS = {
    "Global.log_level": "critical",
    "Global.max_side_len": LONGEST_SIDE,
    "Global.use_cls": False,
    "Det.limit_type": "max",
    "Det.limit_side_len": 960,
    "Rec.rec_batch_num": 1,
}


def is_installed() -> bool:
    """Whether the extra is there."""
    return all(importlib.util.find_spec(name) for name in ("rapidocr", "onnxruntime"))


def recognised(picture: NDArray[np.uint8]) -> list[str]:
    """The lines of text in a picture, from top to bottom; ``picture`` is height × width × 3 in the
    order blue, green, red. What stands side by side is one line, separated by tabs. Raises
    Unreadable if the extra is not installed."""
    try:
        found = _engine()(picture)
    except Unreadable:
        raise
    except Exception as error:  # the runtime has an exception of its own for everything
        raise Unreadable(f"its characters cannot be recognised: {str(error)[:200]}") from error
    # With nothing found there are other classes of results, and None for no boxes.
    boxes, texts = getattr(found, "boxes", None), getattr(found, "txts", None)
    if boxes is None or not texts:
        return []
    sides = [(box[:, 0].min(), box[:, 1].min(), box[:, 1].max()) for box in boxes]
    return joined([(float(x), float(y), float(end)) for x, y, end in sides], texts)


def joined(sides: Sequence[tuple[float, float, float]], texts: Sequence[str]) -> list[str]:
    """Texts to lines; each has the left, the top and the bottom of its box. Boxes are in the same
    line when the middle of one is within the first."""
    lines: list[list[int]] = []
    for box in sorted(range(len(texts)), key=lambda box: sum(sides[box][1:])):
        middle = sum(sides[box][1:]) / 2
        if lines and sides[lines[-1][0]][1] < middle < sides[lines[-1][0]][2]:
            lines[-1].append(box)
        else:
            lines.append([box])
    in_order = (sorted(line, key=lambda box: sides[box][0]) for line in lines)
    return ["\t".join(texts[box] for box in line) for line in in_order]


@functools.cache
def _engine() -> Any:
    """The engine with its models, loaded once in a process: this takes a second."""
    if not is_installed():
        raise Unreadable(MISSING)
    # Else, from the moment it is loaded, onnxruntime keeps what it is used for, and an id of the
    # device, in the user's cache, and sends them to its makers.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    from rapidocr import RapidOCR

    threads = min(_THREADS, os.cpu_count() or 1)
    return RapidOCR(params={**_SETTINGS, "EngineConfig.onnxruntime.intra_op_num_threads": threads})
