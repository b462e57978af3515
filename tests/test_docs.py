"""The pages match the program, document everything, and have no broken links."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

import winnow
from conftest import child_environment, git_init, write_files
from reference.error_page import error_classes
from reference.settings_page import sections
from winnow.config import MODELS, PREFERRED
from winnow.frontends.cli.arguments import parsed
from winnow.frontends.cli.main import command_parser
from winnow.frontends.config_files import load
from winnow.frontends.lsp.protocol import REQUESTS
from winnow.symbols.language import generic_languages, languages
from winnow.tools import TOOLS
from winnow.tools.registry import fields_of
from winnow.types import EDITOR_REQUEST

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("**/*.md")),
    ROOT / "server/README.md",
    *sorted((ROOT / "vscode-extension").glob("*.md")),
    *sorted((ROOT / "vscode-extension/walkthrough").glob("*.md")),
    ROOT / "nvim/README.md",
]
LINK = re.compile(r"(?<!\\)\]\(<?([^)\s>]+)>?\)")


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def fenced(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def section(text: str, heading: str) -> str:
    """Return the text below a heading, up to the next heading of the same or a higher level."""
    level = len(heading.partition(" ")[0])
    end = rf"(?=^#{{1,{level}}} |\Z)"
    found = re.search(rf"^{re.escape(heading)}\n(.*?){end}", text, re.M | re.S)
    assert found, heading
    return found[1]


# --- the README ----------------------------------------------------------------------------


def test_the_first_command_is_accepted_and_its_output_is_of_the_current_sources() -> None:
    readme = read("README.md")
    line = fenced(readme, "sh")[0].rpartition("&&")[2].strip()
    program, *arguments = shlex.split(line)
    assert program == ".venv/bin/winnow"
    assert parsed(command_parser(), arguments, ROOT).tool is TOOLS["code_search"]
    place, *code, _, notes = fenced(readme, "text")[0].splitlines()
    path, symbol = re.fullmatch(r"(\S+):[0-9]+-[0-9]+  ([\w.]+)  mentions .*", place).groups()  # type: ignore[union-attr]
    source = read(path)
    assert f"def {symbol.rpartition('.')[2]}(" in source
    assert 4 < len(code) <= 12
    for shown in code:
        assert re.sub(r"^ *[0-9]+\t", "", shown) in source.split("\n")
    assert "semantic search" in notes


def test_the_script_of_contributors_is_the_one_that_ci_runs() -> None:
    script = "scripts/test"
    assert fenced(read("README.md"), "sh")[1].split()[0] == script
    assert f"{script} " in fenced(read("docs/contributing.md"), "sh")[0]
    assert (ROOT / script).stat().st_mode & 0o111
    assert f"exec {script}" in read(".ci/run")


def test_each_claim_names_a_test_or_a_benchmark() -> None:
    rows = [row for row in read("docs/claims.md").splitlines() if row.startswith("| **")]
    assert len(rows) > 5
    for row in rows:
        proofs = LINK.findall(row.rpartition(" | ")[2])
        assert proofs, row
        proven = ("../tests/", "../benchmarks/", "../nvim/tests/")
        assert all(link.startswith(proven) for link in proofs), row


@pytest.mark.parametrize("page", ["docs/installing.md", "docs/language-models.md"])
def test_the_settings_on_a_page_exist(page: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    [shown] = fenced(read(page), "toml")
    file.write_text(re.sub(r"^# (\w+ =)", r"\1", shown, flags=re.M))
    config, problems = load({"WINNOW_CONFIG": str(file)})
    assert problems == []
    assert config != load({})[0]


def test_the_page_lists_all_models_and_their_keys() -> None:
    text = read("docs/language-models.md")
    assert [name for name in re.findall(r"`([\w.-]+)`", text) if name in MODELS] == list(PREFERRED)
    for model in MODELS.values():
        assert f"`{model.key_env}`" in text


def test_the_page_lists_all_languages() -> None:
    table = section(read("docs/languages.md"), "# Languages")
    resolved, with_kinds, by_name, generic = (
        re.findall(r"`([^`]+)`", row) for row in table.splitlines() if row.startswith("| `")
    )
    assert resolved == sorted(name for name, found in languages().items() if found.rules)
    rest = {name: found for name, found in languages().items() if not found.rules}
    assert with_kinds == sorted(name for name, found in rest.items() if found.uses)
    assert by_name == sorted(name for name, found in rest.items() if not found.uses)
    assert generic == sorted(generic_languages())


# --- nothing is undocumented ---------------------------------------------------------------


def test_every_tool_has_a_page_and_a_line_in_the_list() -> None:
    row = re.compile(r"^\| \[(\w+)\]\((.*?)\) \| `(.*?)` \| `winnow (.*?)` \|", re.M)
    assert sorted(row.findall(read("docs/tools/README.md"))) == sorted(
        (tool.name, f"{tool.command}.md", tool.method, tool.command) for tool in TOOLS.values()
    )
    for tool in TOOLS.values():
        page = read(f"docs/tools/{tool.command}.md")
        for field in tool.fields:
            assert f"| `{field.name}` |" in section(page, "## Params"), (tool.name, field.name)


def test_every_setting_is_on_the_page_of_settings() -> None:
    text = read("docs/settings.md")
    for path, struct in sections():
        shown = section(text, f"## `[{path}]`")
        for field in fields_of(struct):
            inner = f"## `[{path}.{field.name}"
            assert f"| `{field.name}` |" in shown or inner in text, f"{path}.{field.name}"


def test_every_kind_of_error_is_on_the_page_of_errors() -> None:
    text = read("docs/errors.md")
    for error in error_classes():
        assert f"| `{error.kind}` |" in text, error
    sources = "".join(
        file.read_text("utf-8") for file in (ROOT / "server/winnow/frontends/lsp").glob("*.py")
    )
    codes = set(re.findall(r"^[A-Z_]+ = (-32[0-9]{3})$", sources, re.M))
    assert len(codes) > 3
    for code_ in codes:
        assert code_ in text


def commands() -> dict[str, argparse.ArgumentParser]:
    actions = command_parser()._actions
    [found] = [action for action in actions if isinstance(action, argparse._SubParsersAction)]
    return {one.dest: found.choices[one.dest] for one in found._choices_actions}


def test_every_command_is_on_the_page_of_the_command_line() -> None:
    page = read("docs/command-line.md")
    own = section(page, "## Other commands")
    tools = {tool.command for tool in TOOLS.values()}
    # The generated list has the commands of tools; this page has questions and examples.
    assert set(re.findall(r"^winnow ([\w-]+)", fenced(page, "sh")[1], re.M)) <= tools
    titles = re.findall(r"^### `winnow ([\w-]+).*`$", own, re.M)
    assert sorted(titles) == sorted(commands().keys() - tools)


def test_every_option_of_a_command_without_a_tool_is_below_its_heading() -> None:
    page = read("docs/command-line.md")
    tools = {tool.command for tool in TOOLS.values()}
    for name, parser in commands().items():
        if name in tools:
            continue
        [heading] = [line for line in page.splitlines() if line.startswith(f"### `winnow {name}")]
        for action in parser._actions:
            if action.help == argparse.SUPPRESS:  # an earlier name
                continue
            if option := next((name for name in action.option_strings if name != "-h"), ""):
                assert option == "--help" or f"`{option}" in section(page, heading), (name, option)


def test_every_request_without_a_tool_is_on_the_page_of_the_language_server() -> None:
    page = read("docs/language-server.md")
    for method in (*REQUESTS, EDITOR_REQUEST):
        assert f"| `{method}` |" in page, method


def test_every_command_of_the_extension_is_in_its_readme() -> None:
    readme = read("vscode-extension/README.md")
    package = json.loads(read("vscode-extension/package.json"))["contributes"]
    # Commands of rows and buttons are not in the palette and need no documentation.
    hidden = {
        item["command"] for item in package["menus"]["commandPalette"] if item["when"] == "false"
    }
    for entry in package["commands"]:
        if entry["command"] not in hidden:
            title = entry["title"]
            assert f"**{title}**" in readme or f"*{title}*" in readme, title
    for binding in package["keybindings"]:
        key = "+".join(part.capitalize() for part in binding["key"].split("+"))
        assert binding["command"] in hidden or f"`{key}`" in readme, key


def test_every_setting_of_the_extension_is_in_its_readme() -> None:
    readme = read("vscode-extension/README.md")
    common, advanced = json.loads(read("vscode-extension/package.json"))["contributes"][
        "configuration"
    ]
    own = [name for name in advanced["properties"] if "tags" not in advanced["properties"][name]]
    for name in (*common["properties"], *own):
        assert f"`{name}`" in readme, name


def neovim_commands() -> set[str]:
    """Return the modes and subcommands of `:Winnow` in the plugin's sources."""
    source = read("nvim/lua/winnow/command.lua")
    modes = re.search(r"^M\.names = \{(.*?)\}", read("nvim/lua/winnow/modes.lua"), re.M | re.S)
    subcommands = re.search(r"^local subcommands = \{\n(.*?)^\}", source, re.M | re.S)
    assert modes
    assert subcommands
    names = set(re.findall(r"'(\w+)'", modes[1]))
    return names | set(re.findall(r"^  (\w+) = function", subcommands[1], re.M))


def test_every_subcommand_in_neovim_is_in_its_help_and_in_the_readme() -> None:
    defined, help_, readme = neovim_commands(), read("nvim/doc/winnow.txt"), read("nvim/README.md")
    assert {"keyword", "log"} < defined
    in_help = set(re.findall(r"^:Winnow (\w+)", help_, re.M))
    modes = help_.partition(":Winnow!")[0].partition("Modes:")[2]
    in_help |= set(re.findall(r"^        (\w+)  ", modes, re.M))
    assert in_help == defined
    in_readme = set()
    for cell in re.findall(r"^\| (`:Winnow .*?) \|", readme, re.M):
        in_readme |= {re.split(r"\W", line.removeprefix(":Winnow "))[0] for line in code(cell)}
    assert in_readme - {""} == defined


def code(text: str) -> list[str]:
    """Return the texts between backquotes."""
    return re.findall(r"`([^`]*)`", text)


# --- the page for contributors -------------------------------------------------------------


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the package, and add the files on the page, one for each addition."""
    folder = tmp_path_factory.mktemp("server") / "winnow"
    shutil.copytree(Path(winnow.__file__).parent, folder)
    added = re.findall(r"^```python (\S+)\n(.*?)^```$", read("docs/contributing.md"), re.M | re.S)
    assert len(added) == 3
    for name, text in added:
        (folder / name).write_text(text, "utf-8")
    return folder.parent


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["todos", "--word", "FIXME"], "main.py\n1:# FIXME: more\n"),
        (["todos", "--word", "FIXME", "--include", "*.c"], "[0 of 0 matches]"),
        (["find-symbol", "User.mail"], "schema.prisma:2: field User.mail — mail String"),
        (["search-docs", "dog"], "film.srt\n00:00:03,500: My dog\n"),
        (["search-docs", "1984"], "film.srt\n  My dog\n00:00:03,500: 1984\n"),
    ],
)
def test_each_addition_for_contributors_takes_one_file(
    extended: Path, arguments: list[str], found: str, tmp_path: Path
) -> None:
    files = {
        "main.py": "# FIXME: more\n",
        "schema.prisma": "model User {\n  mail String\n}\n",
        "film.srt": "1\n00:00:03,500 --> 00:00:04,000\nMy dog\n1984\n",
    }
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/patient.py"), *arguments],
        cwd=write_files(git_init(tmp_path / "project"), files),
        env=child_environment(tmp_path, PYTHONPATH=str(extended)),
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.stdout.startswith(found)


# --- links ---------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for link in links(page.read_text("utf-8")):
        path, _, heading = unquote(link).partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert within(page) in target.resolve().parents, link
        if heading:
            assert heading in anchors(target.read_text("utf-8")), link


def within(page: Path) -> Path:
    """Return the folder that the links of a page may lead to: a client is published without the
    files outside its folder."""
    clients = (ROOT / "vscode-extension", ROOT / "nvim")
    return next((client for client in clients if client in page.parents), ROOT)


def links(text: str) -> Iterator[str]:
    """Yield the local files that a page links to or shows."""
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`(?!\])", "", text, flags=re.M | re.S)
    for link in (*LINK.findall(prose), *re.findall(r"(?:src|href)=\"(.*?)\"", prose)):
        if not re.match(r"\w[\w+.-]*:", link):
            yield link


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, in GitHub's format."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_security_page_names_tests_that_exist() -> None:
    page = (ROOT / "docs/security.md").read_text("utf-8")
    named = set(re.findall(r"`(test_\w+)`", page))
    files = (ROOT / "tests").rglob("test_*.py")
    existing = {
        name for file in files for name in re.findall(r"def (test_\w+)", file.read_text("utf-8"))
    }
    assert len(named) > 50
    assert named <= existing
