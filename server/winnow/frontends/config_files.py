"""Read the configuration files: the user's file, and the workspace's `winnow.toml`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from winnow.config import WORKSPACE_FILE, WORKSPACE_SECTIONS, Config, merge_layer
from winnow.storage.untrusted import UnusableFile, read_untrusted, read_users_own
from winnow.storage.user_paths import config_path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAX_FILE_BYTES = 1024 * 1024


def load(environment: Mapping[str, str], workspace: Path | None = None) -> tuple[Config, list[str]]:
    """Return the configuration from the user's and the workspace's files, and their problems."""
    config, problems = Config(), list[str]()
    user = _user_file(environment)
    layer, unreadable = _read(user, read_users_own)
    config, invalid = merge_layer(config, layer, str(user))
    problems += unreadable + invalid
    if workspace is not None:
        file = workspace / WORKSPACE_FILE
        layer, unreadable = _read(file, read_untrusted)
        problems += unreadable
        problems += [
            f"{file}: `{key}` is ignored: a workspace's file may only set"
            f" {', '.join(WORKSPACE_SECTIONS)}"
            for key in layer
            if key not in WORKSPACE_SECTIONS
        ]
        harmless = {key: layer[key] for key in WORKSPACE_SECTIONS if key in layer}
        config, invalid = merge_layer(config, harmless, str(file))
        problems += invalid
    return config, problems


def _user_file(environment: Mapping[str, str]) -> Path:
    if named := environment.get("WINNOW_CONFIG"):
        return Path(named)
    return Path(config_path(environment), "config.toml")


def _read(file: Path, read: Callable[[Path, int], bytes]) -> tuple[dict[str, Any], list[str]]:
    try:
        return tomllib.loads(read(file, MAX_FILE_BYTES).decode("utf-8")), []
    except (FileNotFoundError, NotADirectoryError):
        return {}, []
    except UnusableFile as error:
        return {}, [f"{file} is ignored: {error.reason}"]
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return {}, [f"{file} is ignored: {error}"]
