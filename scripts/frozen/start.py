"""Start the frozen server: the command line, or a module of it in a child process.

Winnow starts its workers with `sys.executable -m MODULE`. In a frozen program that is the program
itself, so this module does what Python would do with `-m`.
"""

from __future__ import annotations

import os
import runpy
import sys
import types

# The program's launcher sets these for itself. Programs that Winnow starts, such as git, must load
# the system's libraries and not the ones packed here.
_ORIGINAL = "_ORIG"
_LIBRARY_PATHS = ("LD_LIBRARY_PATH", "LIBPATH")

# The MCP SDK imports these to encrypt the state of requests to HTTP servers. Winnow serves only
# standard input and output, and the package would be one fifteenth of the download.
_CRYPTOGRAPHY = {
    "cryptography.exceptions": "InvalidTag",
    "cryptography.hazmat.primitives.ciphers.aead": "AESGCM",
    "cryptography.hazmat.primitives.hashes": "SHA256",
    "cryptography.hazmat.primitives.kdf.hkdf": "HKDF",
}


class _LeftOut(Exception):
    """A class of a package that the frozen program doesn't contain."""

    def __init__(self, *args: object, **options: object) -> None:
        raise NotImplementedError("the frozen program has no cryptography")


def restore_environment() -> None:
    """Give child processes the environment that this process was started with."""
    for name in _LIBRARY_PATHS:
        original = os.environ.pop(name + _ORIGINAL, None)
        if original is not None:
            os.environ[name] = original
        else:
            os.environ.pop(name, None)
    for name in [name for name in os.environ if name.startswith("_PYI_")]:
        del os.environ[name]


def replace_cryptography() -> None:
    """Let the MCP SDK import what it uses of `cryptography`, which the program doesn't contain."""
    for name, attribute in _CRYPTOGRAPHY.items():
        module = types.ModuleType(name)
        setattr(module, attribute, _LeftOut)
        sys.modules[name] = module


def main() -> None:
    """Run a module of Winnow for `-m MODULE`, or else the command line."""
    restore_environment()
    replace_cryptography()
    module = "winnow"
    if sys.argv[1:2] == ["-m"] and len(sys.argv) > 2 and sys.argv[2].split(".")[0] == "winnow":
        module = sys.argv[2]
        del sys.argv[1:3]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
