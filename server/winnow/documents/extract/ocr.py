"""Recognize text in images with RapidOCR.

RapidOCR runs on the CPU, and its wheel includes the models, so it downloads nothing. It is large
and therefore an extra: ``winnow-ls[ocr]``.
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

# An A4 page then has about 170 dots per inch, which is enough for print.
LONGEST_SIDE = 2000
MISSING = "OCR is not installed: pip install 'winnow-ls[ocr]'"
# More threads gain little for a page, and take CPU time from other programs.
_THREADS = 2
# Measured with pages of manuals. Lines are detected in a smaller image, because a large image of a
# page with a single line yields none. Without the model that rotates lines, 98 of 100 words are
# right instead of 95, because it also rotates upright lines. Recognizing one line at a time is as
# fast as six, and takes 560 MB of memory instead of 900.
_SETTINGS = {
    "Global.log_level": "critical",
    "Global.max_side_len": LONGEST_SIDE,
    "Global.use_cls": False,
    "Det.limit_type": "max",
    "Det.limit_side_len": 960,
    "Rec.rec_batch_num": 1,
}


def is_installed() -> bool:
    """Return True if the extra is installed."""
    return all(importlib.util.find_spec(name) for name in ("rapidocr", "onnxruntime"))


def recognized_lines(picture: NDArray[np.uint8]) -> list[str]:
    """Return the lines of text in an image, from top to bottom.

    ``picture`` is height × width × 3 in the order blue, green, red. Texts side by side become a
    line, separated by tabs. Raises Unreadable if the extra is not installed.
    """
    try:
        found = _engine()(picture)
    except Unreadable:
        raise
    except Exception as error:  # onnxruntime raises its own exceptions
        raise Unreadable(f"OCR failed: {str(error)[:200]}") from error
    # An empty result has another class, or None for its boxes.
    boxes, texts = getattr(found, "boxes", None), getattr(found, "txts", None)
    if boxes is None or not texts:
        return []
    sides = [(box[:, 0].min(), box[:, 1].min(), box[:, 1].max()) for box in boxes]
    return joined([(float(x), float(y), float(end)) for x, y, end in sides], texts)


def joined(sides: Sequence[tuple[float, float, float]], texts: Sequence[str]) -> list[str]:
    """Join texts to lines. ``sides`` has the left, top and bottom of each box; a box belongs to a
    line if its middle is within the first box of the line."""
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
    """Load the engine with its models, which takes a second, once per process."""
    if not is_installed():
        raise Unreadable(MISSING)
    # Without this, onnxruntime stores usage data and a device id in the user's cache as soon as it
    # is loaded, and sends them to its makers.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    from rapidocr import RapidOCR

    threads = min(_THREADS, os.cpu_count() or 1)
    return RapidOCR(params={**_SETTINGS, "EngineConfig.onnxruntime.intra_op_num_threads": threads})
