"""An agent finishes a small task by the tools of `winnow mcp` alone.

The agent is a policy without a model: it knows the task, and otherwise only what answers say, as
text, which is what a model reads. Names, files and the place of the mistake are drawn for each run,
so that nothing can be known beforehand; the truth is what was drawn.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from mcp import Client

from conftest import write_files
from mcp_client import connected, indexed, text_of

pytestmark = pytest.mark.wire

MAX_TOKENS = 1_000
SETTINGS = '[index]\nembeddings = "off"\n'
TASK = (
    "the price of a parcel is worked out from its weight and where it goes; that function got one"
    " more parameter, and one caller still leaves it out: name its line"
)


class Project(NamedTuple):
    folder: Path
    wrong: str  # path:line


def drawn(folder: Path, seed: int) -> Project:
    """Generate a project with a function, callers including a wrong one, and an unrelated function
    of the same name."""
    choice = random.Random(seed)
    verb, noun = choice.choice(["quote", "rate", "charge"]), choice.choice(["parcel", "shipment"])
    name = f"{verb}_{noun}"
    home = choice.choice(["tariffs", "pricing", "costs"])
    more = choice.choice(["insured", "express", "fragile"])
    files = {
        f"post/{home}.py": (
            '"""What it costs to send something."""\n\n'
            + "\n".join(
                f"ZONE_{zone} = {choice.randint(1, 9)}" for zone in range(choice.randint(2, 9))
            )
            + f"\n\n\ndef {name}(weight, destination, {more}, currency='EUR'):\n"
            '    """The price of a parcel, from its weight and where it goes."""\n'
            f"    price = weight * len(destination)\n"
            f"    return price * 2 if {more} else price\n"
        ),
        "post/letters.py": (
            "class Letter:\n"
            f"    def {name}(self, weight):\n"
            '        """A namesake: a letter has one price."""\n'
            "        return 1\n\n\n"
            f"def send(letter: Letter):\n    return letter.{name}(3)\n"
        ),
        "README.md": "# Post\n\nSends parcels and letters.\n",
    }
    callers = choice.sample(["shop", "returns", "gifts", "depot", "courier"], 4)
    broken = choice.choice(callers)
    for caller in callers:
        before = "".join(f"LIMIT_{n} = {n}\n" for n in range(choice.randint(0, 30)))
        given = "order.weight, order.country" + ("" if caller == broken else ", False")
        lines = f"from post.{home} import {name}\n\n{before}\n\ndef {caller}_total(order):\n"
        lines += f"    total = {name}({given})\n    return total + 1\n"
        files[f"shops/{caller}.py"] = lines
        if caller == broken:
            at = lines[: lines.index("    total =")].count("\n") + 1
    write_files(folder, files)
    return Project(folder, f"shops/{broken}.py:{at}")


class Agent:
    """Call the tools like a careful agent, step by step."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.called: list[str] = []

    async def ask(self, tool: str, **arguments: object) -> str:
        """Call a tool and return its text, which is everything that the agent sees."""
        self.called.append(tool)
        answer = await self._client.call_tool(tool, {"max_tokens": MAX_TOKENS, **arguments})
        assert not answer.is_error, text_of(answer)
        return text_of(answer)

    async def line_to_change(self, task: str) -> str | None:
        """Return `path:line` of the call without an argument; None if there is none."""
        path, start, name = await self._definition(task)
        source = await self.ask("read_file", path=path, spans=[f"{start}-"], max_lines=20)
        signature = re.search(rf"^\d+\tdef {name}\((.*)\):$", source, re.M)
        assert signature, source
        needed = [one for one in signature[1].split(", ") if "=" not in one]
        for place, line in await self._calls(path, int(start)):
            given = re.search(rf"{name}\((.*)\)", line)
            assert given, line
            if len(given[1].split(", ")) < len(needed):
                return place
        return None

    async def _definition(self, task: str) -> tuple[str, str, str]:
        """Return the location of the function in a task."""
        answer = await self.ask("code_search", query=task.partition(";")[0], limit=3)
        for found in re.finditer(r"^(\S+\.py):(\d+)(?:-\d+)?(?:  |$)", answer, re.M):
            path, shown = found[1], answer[found.end() :]
            defined = re.search(r"^(\d+)\tdef (\w+)\(.*weight.*destination", shown, re.M)
            if defined:
                return path, defined[1], defined[2]
        raise AssertionError(answer)

    async def _calls(self, path: str, line: int) -> list[tuple[str, str]]:
        """Return the callers on all pages of the answer: `path:line`, and the line."""
        calls, cursor, file = [], None, ""
        while True:
            answer = await self.ask(
                "find_references", path=path, line=line, kinds=["call"], cursor=cursor
            )
            for row in answer.splitlines():
                if found := re.match(r"(\d+):\d+ call(?: in \S+)?  (.*)", row):
                    calls.append((f"{file}:{found[1]}", found[2]))
                elif re.fullmatch(r"[\w/.]+\.py", row):
                    file = row
            more = re.search(r"^\[more: cursor (\S+)\]$", answer, re.M)
            if not more:
                return calls
            cursor = more[1]


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_an_agent_finds_the_line_to_change_with_the_tools_alone(
    tmp_path: Path, seed: int
) -> None:
    project = drawn(tmp_path / "project", seed)
    async with connected(project.folder, home=tmp_path, settings=SETTINGS) as client:
        await indexed(client)
        agent = Agent(client)
        assert await agent.line_to_change(TASK) == project.wrong
        assert agent.called == ["code_search", "read_file", "find_references"]

        # After the line is changed, for example in an editor, nothing is left to do.
        path, _, line = project.wrong.rpartition(":")
        file = project.folder / path
        lines = file.read_text("utf-8").split("\n")
        lines[int(line) - 1] = lines[int(line) - 1].replace(")", ", True)")
        file.write_text("\n".join(lines), "utf-8")
        assert await agent.line_to_change(TASK) is None
