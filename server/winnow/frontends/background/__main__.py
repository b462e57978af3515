"""Run the background process of a workspace: `python -m winnow.frontends.background ROOT`.

Only the command line starts it. A second process for a workspace ends here, before it imports
anything else.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from winnow.frontends.background.stamp import code_stamp
from winnow.storage import sockets
from winnow.storage.lock import owned

# Time for the end of an earlier process.
WAIT_SECONDS = 3.0


def main(root: str) -> int:
    """Run the background process, unless there is one. Return the exit code."""
    folder = sockets.sockets_folder(os.environ)
    if folder is None:
        return 1
    sockets.make_private_folder(folder)
    path = sockets.socket_path(folder, root)
    try:
        with owned(Path(f"{path}.lock"), WAIT_SECONDS):
            code = code_stamp()
            # Not before it is clear that this process is needed.
            from winnow.frontends.background.process import run

            # The system closes the connections of those who wait, when the process has ended.
            run(root, path, code)
    except TimeoutError:
        pass
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
