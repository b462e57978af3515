"""What is here and what is missing: the answer to "why does it not work?"."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from msgspec import Struct

import winnow
from winnow import config as configuration
from winnow.errors import ProgramNotInstalled
from winnow.ranking.models import Models
from winnow.text.files import repository_root
from winnow.text.ripgrep import NO_CONFIG, find_ripgrep

PACKAGES = ("pygls", "lsprotocol", "msgspec", "openai", "anthropic")


class Finding(Struct, frozen=True):
    """One thing that was looked at; ``advice`` says what to do if it is not ``good``."""

    subject: str
    good: bool
    detail: str
    advice: str = ""


def examine(folder: Path, environment: Mapping[str, str]) -> list[Finding]:
    """Look at everything a search needs, without sending anything anywhere."""
    root = repository_root(folder)
    config, problems = configuration.load(environment, root)
    findings = [Finding("winnow", True, f"{winnow.__version__}, Python {sys.version.split()[0]}")]
    findings.append(_ripgrep(config.programs.rg))
    findings.append(Finding("search root", True, str(root)))
    findings += [_package(name) for name in PACKAGES]
    findings += [Finding("configuration", False, problem) for problem in problems]
    models = Models(config.llm, environment)
    findings += [_model(models, name) for name in models.names()]
    usable, _ = models.usable()
    findings.append(
        Finding("ranking", True, f"by {usable[0].name}; if it fails, by the local ranker")
        if usable
        else Finding(
            "ranking",
            True,
            "by the local ranker",
            "Set one of the keys above to have a language model rank with reasons.",
        )
    )
    return findings


def _ripgrep(configured: str | None) -> Finding:
    try:
        program = find_ripgrep(configured)
        said = subprocess.run(
            [program, NO_CONFIG, "--version"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=10,
            check=True,
        ).stdout.decode("utf-8", "replace")
    except ProgramNotInstalled as error:
        return Finding("ripgrep", False, "not found", error.message)
    except (OSError, subprocess.SubprocessError) as error:
        return Finding("ripgrep", False, f"does not run: {error}", "Name another one: programs.rg")
    return Finding("ripgrep", True, f"{said.splitlines()[0]}, {program}")


def _package(name: str) -> Finding:
    try:
        return Finding(name, True, version(name))
    except PackageNotFoundError:
        return Finding(name, False, "not installed", f"pip install {name}")


def _model(models: Models, name: str) -> Finding:
    settings = models.settings.models[name]
    detail = f"{settings.model} at {models.endpoint(name)}"
    problem = models.problem(name)
    if problem:
        return Finding(f"model {name}", False, f"{detail}: {problem}")
    key = f"key in {settings.key_env}" if settings.key_env else "no key wanted"
    return Finding(f"model {name}", True, f"{detail}, {key}")
