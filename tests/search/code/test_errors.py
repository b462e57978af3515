"""Error messages and stack traces: the code that raises a message, and frames in the workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from asking import answered
from conftest import IndexFiles, MakeWorkspace, write_files
from winnow.config import Config, IndexSettings
from winnow.errors import InvalidParams
from winnow.search.code.message_sites import site_hit
from winnow.search.code.messages import MatchedText, Site, quoted_terms, sites_in, source_terms
from winnow.tools import TOOLS
from winnow.tools.code_search import CodeHit, CodeSearchResult
from winnow.tools.semantic_search import SemanticSearchResult
from winnow.types import QUERY_CHARACTERS, no_progress
from winnow.workspace import EngineWorkspace

BANK = "java/src/org/example/Bank.java"
FILES = {
    "src/shop/cart.py": (
        "class Cart:\n"
        "    def add(self, item, count):\n"
        "        if count < 1:\n"
        "            raise ValueError(\n"
        '                f"The count of {item!r} must be positive,"\n'
        '                f" but {count} was given"\n'
        "            )\n"
        "        self.items.append(item)\n\n"
        "    def remove(self, item):\n"
        "        self.items.remove(item)\n"
    ),
    "src/shop/__init__.py": "from shop.cart import Cart\n",
    "tests/test_cart.py": (
        "def test_count():\n    expect(\"The count of 'tea' must be positive, but 0 was given\")\n"
    ),
    "docs/errors.md": "The count of 'tea' must be positive, but 0 was given\n",
    "locale/de.yml": "count: The count of %{item} must be positive, but %{count} was given\n",
    "web/pay.ts": (
        "export function pay(amount: number) {\n"
        "  // Payment of the amount was refused by the bank\n"
        "  throw new Error('Payment of ' + amount + ' was refused by ' +\n"
        "    'the bank')\n"
        "}\n"
    ),
    "web/login.ts": (
        "// Forgot your password, and other links\n"
        "export const links = [\n"
        "  { label: 'Forgot your password', to: '/reset' },\n"
        "]\n"
        "export const lost = (url: string) => `The link to ${url} is gone. Ask for another`\n"
    ),
    "web/login.test.ts": "expect(page).toHaveText('Forgot your password')\n",
    "go/limit.go": (
        "package limit\n\n"
        "func Limit(n int) error {\n"
        '\treturn fmt.Errorf("at most %d requests per second are allowed, got %d", most, n)\n'
        "}\n"
    ),
    "net/client.go": (
        "package net\n\n"
        "func Dial(name string) error {\n"
        '\tlogger.Info("Opening a connection", "name", name)\n'
        '\treturn fmt.Errorf("connecting to node: %w", open(name))\n'
        "}\n\n"
        "func open(name string) error {\n"
        '\treturn fmt.Errorf("Node [%s] absent from the ring", name)\n'
        "}\n"
    ),
    "web/jobs.cs": (
        "class Jobs {\n"
        "    void Run(string path) {\n"
        '        _logger.LogInformation("Deleting part of {Path}", path);\n'
        '        _logger.LogError("Error deleting part of {Path}", path);\n'
        "    }\n"
        "}\n"
    ),
    "web/kettle.rb": (
        "def boil(name, room)\n"
        '  raise "Can\'t boil an empty kettle."\n'
        '  raise "No kettle named #{name} in #{room}; perhaps it boils?"\n'
        "end\n"
    ),
    "c/vault.c": ('void opened(const char *why) {\n  failf("Vault problem: %s", why);\n}\n'),
    BANK: (
        "package org.example;\n\n"
        "class Bank {\n"
        "    void open() {\n"
        '        throw new IllegalStateException("the bank is closed");\n'
        "    }\n"
        "}\n"
    ),
}
MESSAGE = "ValueError: The count of 'tea' must be positive, but 0 was given"
TRACE = f"""\
Traceback (most recent call last):
  File "/home/them/app.py", line 3, in main
    cart.add("tea", 0)
  File "/home/them/venv/site-packages/shop/cart.py", line 24, in add
    raise ValueError(
{MESSAGE}
"""


@pytest.fixture(params=["off", "on"], ids=["without an index", "with an index"])
async def workspace(
    make_workspace: MakeWorkspace, tmp_path: Path, request: pytest.FixtureRequest
) -> EngineWorkspace:
    write_files(tmp_path, FILES)
    settings = IndexSettings(enabled=request.param == "on", embeddings="off")
    workspace = make_workspace(tmp_path, config=Config(index=settings))
    if request.param == "on":
        await workspace.index.build()
    return workspace


with_index = pytest.mark.parametrize("workspace", ["on"], indirect=True)


async def search(workspace: EngineWorkspace, query: str, **params: Any) -> CodeSearchResult:
    raw = {"query": query, **params}
    return await answered(
        TOOLS["code_search"], CodeSearchResult, workspace, raw, no_progress, items="results"
    )


def rows(results: list[CodeHit]) -> list[tuple[str, int | None, int | None, str | None]]:
    return [(hit.path, hit.line, hit.end_line, hit.why) for hit in results]


@pytest.mark.parametrize(
    ("score", "why"), [(0.9, "repeats this message"), (0.4, "repeats a similar message")]
)
def test_what_is_only_similar_to_a_message_does_not_repeat_it(score: float, why: str) -> None:
    assert site_hit(Site("tests/test_cart.py", 3, 3, score, raises=False), []).why == why


async def test_the_code_that_raises_a_message_precedes_what_repeats_it(
    workspace: EngineWorkspace,
) -> None:
    result = await search(workspace, MESSAGE)
    assert result.reason.endswith("it has an error message")
    assert rows(result.results)[0] == ("src/shop/cart.py", 5, 6, "raises this message")
    repeating = [hit.path for hit in result.results if hit.why == "repeats this message"]
    assert set(repeating) == {"docs/errors.md", "locale/de.yml", "tests/test_cart.py"}


@pytest.mark.parametrize(
    ("query", "path", "first", "last"),
    [
        ("Error: Payment of 3 was refused by the bank", "web/pay.ts", 3, 4),
        ("Error: at most 5 requests per second are allowed, got 9", "go/limit.go", 4, 4),
        ("at most 5 requests per second are allowed, got 9, not expected", "go/limit.go", 4, 4),
        (
            'Exception in thread "main" java.lang.IllegalStateException: the bank is closed',
            BANK,
            5,
            5,
        ),
        ("Shop::PaymentError (Payment of 3 was refused by the bank):", "web/pay.ts", 3, 4),
        ("Can't boil an empty kettle.", "web/kettle.rb", 2, 2),
        ("No kettle named 'tea' in room 3; perhaps it boils?", "web/kettle.rb", 3, 3),
        ("[Tea] [ab-12] No kettle named tea in room 3; perhaps it boils?", "web/kettle.rb", 3, 3),
        ("shop: (7) Payment of 3 was refused by the bank", "web/pay.ts", 3, 4),
        ("(error) The count of tea must be positive, but 0 was given", "src/shop/cart.py", 5, 6),
        (
            "2026-01-02 10:11:12 ERROR shop.web: Payment of 3 was refused by the bank",
            "web/pay.ts",
            3,
            4,
        ),
    ],
)
async def test_variable_parts_of_a_message_do_not_matter(
    workspace: EngineWorkspace, query: str, path: str, first: int, last: int
) -> None:
    found = rows((await search(workspace, query)).results)[0]
    assert found == (path, first, last, "raises this message")


@pytest.mark.parametrize(
    "query",
    [
        '{"error":"pot \'green\' not found"}',
        "{'status': 404, 'detail': \"pot 'green' not found\"}",
        '{\n  "error": {\n    "code": 5,\n    "message": "pot \'green\' not found"\n  }\n}',
    ],
)
async def test_the_error_in_an_answer_of_a_service_is_found(
    index_files: IndexFiles, query: str
) -> None:
    """Many strings have the words behind the value, but only one has them behind the quote."""
    files = {f"a{number}.py": 'raise KeyError("jar not found")\n' for number in range(120)}
    files |= {
        "pots.py": "raise KeyError(f\"pot '{name}' not found\")\n",
        "other_pots.py": 'raise KeyError(f"pot {name} not found")\n',
    }
    workspace = await index_files(files)
    found = rows((await search(workspace, query)).results)
    assert found[0] == ("pots.py", 1, 1, "raises this message")


async def test_a_message_of_common_words_with_values_is_found(index_files: IndexFiles) -> None:
    """The index names no files for words that many files have."""
    files = {f"a{number}.py": "# connect to it\n" for number in range(120)}
    files |= {
        "net.c": 'infof(data, "connect to %s port %u failed: %s", host, port, why);\n',
        "codes.c": 'p = "Connection refused";\n',
    }
    workspace = await index_files(files)
    result = await search(workspace, "* connect to 10.0.0.5 port 8443 failed: Connection refused")
    assert [hit.path for hit in result.results[:2]] == ["net.c", "codes.c"]


async def test_code_is_read_before_documents(
    index_files: IndexFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow.search.code.message_sites.PROBABLE_FILES", 1)
    monkeypatch.setattr("winnow.search.code.message_files.COMMON_SHARE", 1)
    files = {
        "a.md": "No tea in room 3\n",
        "b.py": 'raise E(f"No tea in room {n}")\n',
    }
    workspace = await index_files(files)
    result = await search(workspace, "No tea in room 3")
    assert rows(result.results)[0] == ("b.py", 1, 1, "raises this message")


@pytest.mark.parametrize(
    ("query", "path", "line", "why"),
    [
        (
            '[2025-10-23 22:27:00 +03:00] [INF] Deleting part of "/var/x.ts"',
            "web/jobs.cs",
            3,
            "logs this message",
        ),
        (
            'ts=2022-08-13T17:00:01.604Z level=info msg="Opening a connection"',
            "net/client.go",
            4,
            "logs this message",
        ),
        (
            'node-1 | level=warn msg=x err="connecting to node: Node [b] absent from the ring"',
            "net/client.go",
            9,
            "raises this message",
        ),
    ],
)
async def test_an_entry_of_a_log_leads_to_the_code_that_logs(
    workspace: EngineWorkspace, query: str, path: str, line: int, why: str
) -> None:
    result = await search(workspace, query)
    assert result.reason.endswith(("it is from a log", "it has an error message"))
    assert rows(result.results)[0] == (path, line, line, why)


async def test_a_value_in_brackets_may_be_anything(workspace: EngineWorkspace) -> None:
    result = await search(workspace, "Node [db-7.example.org, port 80] absent from the ring")
    assert rows(result.results)[0] == ("net/client.go", 9, 9, "raises this message")


async def test_each_part_of_a_chain_of_errors_is_found(workspace: EngineWorkspace) -> None:
    result = await search(
        workspace, "cannot start: connecting to node: Node [b] absent from the ring"
    )
    found = [row[:2] for row in rows(result.results) if "message" in (row[3] or "")]
    assert found[:2] == [("net/client.go", 9), ("net/client.go", 5)]


async def test_frames_of_another_machine_and_version_are_found(workspace: EngineWorkspace) -> None:
    is_indexed = workspace.config.index.enabled
    # Without an index, the file has no line 24.
    trace = TRACE if is_indexed else TRACE.replace("line 24", "line 4")
    result = await search(workspace, trace.replace(MESSAGE, "ValueError"))
    assert result.reason.endswith("it has a stack trace")
    first = result.results[0]
    assert (first.path, first.why) == (
        "src/shop/cart.py",
        "frame 1 of the stack trace: `add`",
    )
    lines = (2, 8, "Cart.add") if is_indexed else (1, 9, None)
    assert (first.line, first.end_line, first.symbol) == lines


@with_index
async def test_the_line_of_a_frame_is_the_one_with_its_code(workspace: EngineWorkspace) -> None:
    # Line 24 of that version is line 4, in the function of the frame.
    first = (await search(workspace, TRACE.replace(MESSAGE, "ValueError"))).results[0]
    assert (first.line, first.end_line, first.best_line) == (2, 8, 4)


async def test_the_function_around_the_line_precedes_another_of_the_same_name(
    index_files: IndexFiles,
) -> None:
    story = (
        "class Story\n  def id=(value)\n    find(value)\n  end\n\n  def id\n    @id\n  end\nend\n"
    )
    workspace = await index_files({"app/story.rb": story})
    for line, expected in ((3, 2), (7, 6)):
        function = "id=" if line == 3 else "id"
        trace = f"app/story.rb:{line}:in `{function}'\napp/story.rb:1:in `<main>'"
        first = (await search(workspace, trace)).results[0]
        assert (first.line, first.best_line) == (expected, line)


async def test_the_line_of_a_compiler_may_be_in_two_files(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {"a/db.go": "package a\n" * 9, "b/db.go": "package b\n" * 9}
    workspace = make_workspace(write_files(tmp_path, files))
    result = await search(workspace, "./db.go:7:3: undefined: foo")
    assert {row[0] for row in rows(result.results)} == {"a/db.go", "b/db.go"}
    assert {row[3] for row in rows(result.results)} == {"the line in the query"}


async def test_a_place_below_the_root_precedes_equal_names_elsewhere(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    """Every module of Terraform has a file of this name."""
    files = dict.fromkeys(("main.tf", "a/main.tf", "b/main.tf", "c/main.tf"), "locals {\n}\n" * 5)
    workspace = make_workspace(write_files(tmp_path, files))
    result = await search(workspace, 'Error: Gone\n\n  on main.tf line 7, in module "x":\n')
    assert [(row[0], row[3]) for row in rows(result.results)][:1] == [
        ("main.tf", "the line in the query")
    ]


async def test_a_task_of_ansible_leads_to_its_definition(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {
        "roles/node/tasks/main.yml": "- name: Node | Install cups\n  command: install\n",
        "roles/node/templates/node.j2": "node cups install node cups install\n",
    }
    workspace = make_workspace(write_files(tmp_path, files))
    query = 'TASK [node : Node | Install cups] ***\nfatal: [n1]: FAILED! => {"changed": false}'
    first = (await search(workspace, query)).results[0]
    assert (first.path, first.line) == ("roles/node/tasks/main.yml", 1)


async def test_a_frame_of_a_compiled_file_is_in_its_source(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {
        "server/commands/mover.ts": "import a from 'a'\n\nexport async function mover() {\n}\n",
        "server/commands/index.tsx": "mover()\n",
        "server/commands/own.js": "own()\n",
        "server/commands/own.ts": "own()\n",
    }
    workspace = make_workspace(write_files(tmp_path, files))
    trace = (
        "Error: no document\n"
        "    at mover (/opt/app/build/server/commands/mover.js:98:11)\n"
        "    at /opt/app/build/server/commands/index.js:20:1\n"
        "    at /opt/app/build/server/commands/own.js:1:1\n"
    )
    found = rows((await search(workspace, trace)).results)
    source = "in the source of {}, whose lines differ"
    assert found[:3] == [
        (
            *("server/commands/mover.ts", 3, 4),
            f"frame 1 of the stack trace: `mover`, {source.format('mover.js')}",
        ),
        (
            *("server/commands/index.tsx", None, None),
            f"frame 2 of the stack trace, {source.format('index.js')}",
        ),
        ("server/commands/own.js", 1, 1, "frame 3 of the stack trace"),
    ]


async def test_frames_without_a_place_are_found_by_their_functions(index_files: IndexFiles) -> None:
    files = {
        "Acme.Media/Player.cs": "namespace Acme.Media;\nclass Player {\n    void Start() {}\n}\n",
        "src/Queue.cs": "namespace Acme.Jobs {\nclass Queue {\n    void Run() {}\n}\n}\n",
        "src/Other.cs": "class Other {\n    void Start() {}\n    void Execute() {}\n}\n",
    }
    workspace = await index_files(files)
    trace = (
        "System.InvalidOperationException: Sequence contains no elements\n"
        "   at System.Linq.ThrowHelper.ThrowNoElementsException()\n"
        "   at Acme.Media.Player.Start(String path, Int32 offset)\n"
        "   at Acme.Jobs.Queue.Run()\n"
        "   at Microsoft.AspNetCore.Mvc.Executor.Execute(ActionContext context)\n"
    )
    result = await search(workspace, trace)
    assert result.reason.endswith("it has a stack trace")
    assert rows(result.results)[:2] == [
        ("Acme.Media/Player.cs", 3, 3, "frame 2 of the stack trace: `Acme.Media.Player.Start`"),
        ("src/Queue.cs", 3, 3, "frame 3 of the stack trace: `Acme.Jobs.Queue.Run`"),
    ]
    assert not any("frame" in (hit.why or "") for hit in result.results[2:])


async def test_a_frame_of_the_jvm_is_found_by_its_package(workspace: EngineWorkspace) -> None:
    trace = (
        "java.lang.IllegalStateException\n"
        "\tat org.example.Bank.open(Bank.java:5)\n\tat org.other.Main.main(Main.java:5)\n"
    )
    first = (await search(workspace, trace)).results[0]
    assert (first.path, first.best_line, first.why) == (
        BANK,
        5,
        "frame 1 of the stack trace: `Bank.open`",
    )


async def test_the_raising_line_of_a_trace_is_first(workspace: EngineWorkspace) -> None:
    found = rows((await search(workspace, f"Adding tea fails\n\n```\n{TRACE}```\n")).results)
    assert found[0] == ("src/shop/cart.py", 5, 6, "raises this message")


async def test_frames_precede_what_raises_the_message_elsewhere(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {
        "tea/pot.py": "def pour():\n    cup.fill()\n\n\ndef serve():\n    pour()\n",
        "tea/proxy.py": "raise ValueError(f'{cup} cannot be filled')\n",
    }
    workspace = make_workspace(write_files(tmp_path, files))
    trace = (
        "Traceback (most recent call last):\n"
        '  File "/srv/tea/pot.py", line 6, in serve\n    pour()\n'
        '  File "/srv/tea/pot.py", line 2, in pour\n    cup.fill()\n'
        "ValueError: Mug 3 cannot be filled\n"
    )
    result = await search(workspace, trace)
    assert [hit.why for hit in result.results[:3]] == [
        "frame 1 of the stack trace: `pour`",
        "frame 2 of the stack trace: `serve`",
        "raises this message",
    ]


async def test_semantic_search_finds_errors_too(workspace: EngineWorkspace) -> None:
    result = await answered(
        TOOLS["semantic_search"],
        SemanticSearchResult,
        workspace,
        {"query": MESSAGE},
        no_progress,
        items="results",
    )
    first = result.results[0]
    assert (first.path, first.start_line, first.why) == (
        "src/shop/cart.py",
        5,
        "raises this message",
    )
    scores = [passage.score for passage in result.results]
    assert scores == sorted(scores, reverse=True)


REFUSED = "Payment of 12 was refused by the bank"


@pytest.mark.parametrize(
    "report",
    [
        f"I cannot pay\n\n> {REFUSED}\n\nVersion 3",
        f"I cannot pay\n\n```\n{REFUSED}\n```\n",
        f"I cannot pay\n\nIt says\n\n    {REFUSED}\n\nwhen I try.",
        f"I cannot pay\n\n$ shop pay 12\n{REFUSED}\n\nVersion 3",
        f"Shop: the total is wrong\n\nI typed the number of my card.\n\nshop: {REFUSED}\n",
        f"I cannot pay\n\n```\nForgot your password\n../pay/a.rst:4:{REFUSED}\n```\n",
        f"{REFUSED}\nError: no such file",
        f"{REFUSED}\n\nterminate called after throwing an instance of 'shop::Closed'",
        f"{REFUSED} when I pay twice\n\nThat began with version 3.",
        f"[Bug]: the shop says {REFUSED} after an update",
        f"Second payment crashes with error: {REFUSED}",
        f"Why do I see {REFUSED} when I pay twice?",
        f"When I pay twice I see {REFUSED} and nothing happens",
    ],
)
async def test_a_message_in_a_report_is_found(workspace: EngineWorkspace, report: str) -> None:
    found = rows((await search(workspace, report)).results)
    assert found[0] == ("web/pay.ts", 3, 4, "raises this message")


@pytest.mark.parametrize(
    "report",
    [
        f"The second payment\n\nWhen I pay twice the page shows {REFUSED} and it stops. Why?",
        f"The second payment\n\nIn the log of the server there is {REFUSED}. What is wrong?",
    ],
)
async def test_a_message_within_a_sentence_of_a_report_is_found(
    index_files: IndexFiles, report: str
) -> None:
    # Files with shorter paths and none of its words are read as well.
    files = {f"{number}.py": f"second_page_of_log_{number} = 1\n" for number in range(60)}
    workspace = await index_files({**FILES, **files})
    found = rows((await search(workspace, report)).results)
    assert found[0] == ("web/pay.ts", 3, 4, "raises this message")


async def test_a_phrase_of_a_report_is_no_message(index_files: IndexFiles) -> None:
    source = 'raise Error("not found")\nraise Error(f"{tea} of the {pot}")\n'
    workspace = await index_files({"tea.py": source})
    report = "The shelf shows not found\n\nAll colors of the shelf are gone."
    found = rows((await search(workspace, report)).results)
    assert not any("message" in (row[3] or "") for row in found)


async def test_the_rest_of_a_report_orders_equal_places_of_its_message(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    fails = '() error {\n\treturn fail("Failed to boil")\n}\n'
    names = ["account", "kettle", "password", "token"]
    files = {f"{name}.go": f"package {name}\n\nfunc {name}{fails}" for name in names}
    workspace = make_workspace(write_files(tmp_path, files))
    await workspace.index.build()
    report = 'A new password is refused\n\nI changed my password and got "Failed to boil".'
    found = rows((await search(workspace, report)).results)
    assert found[0] == ("password.go", 4, 4, "raises this message")
    assert {row[0] for row in found[:4]} == set(files)


async def test_a_place_with_the_message_that_a_title_quotes_is_shown_once(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    code = (
        "def put(tea, pot):\n"
        "    if tea.of == 'teakettle' and pot.kind in NOT_FOR_TEA:\n"
        "        raise ValueError(\n"
        '            f"Tea cannot be put into {pot.kind} pots"\n'
        "        )\n"
    )
    workspace = make_workspace(write_files(tmp_path, {"tea.py": code}))
    await workspace.index.build()
    title = 'Teakettle t7 (of shelf s1) cannot be served: "Tea cannot be put into Iron pots"'
    found = rows((await search(workspace, title)).results)
    assert [row[3] for row in found].count("raises this message") == 1


async def test_what_a_report_says_about_the_machine_is_no_message(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    source = "print(f'Platform:       {sys.platform}; ({platform()})')\n"
    source += "print(f'Python version: {sys.version})')\n"
    workspace = make_workspace(write_files(tmp_path, {"info.py": source, "cup.py": "CUP = 1\n"}))
    machine = "Platform:       linux; (Linux-6.3)\nPython version: 3.11 (main) [GCC 12])\n"
    report = f"The cup leaks\n\n```text\n{machine}Tea version: 4\n```\n"
    found = (await search(workspace, report)).results
    assert not any("message" in (hit.why or "") for hit in found)


async def test_a_label_in_a_report_is_no_message(workspace: EngineWorkspace) -> None:
    report = 'Wrong order\n\nI clicked on "Forgot your password", and nothing happened.'
    result = await search(workspace, report)
    assert not any("this" in (hit.why or "") for hit in result.results)


@pytest.mark.parametrize("has_index", [True, False])
async def test_a_word_of_a_message_of_common_words_may_be_a_value(
    make_workspace: MakeWorkspace, tmp_path: Path, has_index: bool
) -> None:
    files = {f"a{number}.cpp": "// the pot was not found\n" for number in range(120)}
    files |= {"shelf.cpp": 'err << QObject::tr("Shelf %1 not found.").arg(name);\n'}
    workspace = make_workspace(write_files(tmp_path, files))
    if has_index:
        await workspace.index.build()
    found = rows((await search(workspace, "Shelf Left not found.")).results)
    assert found[0] == ("shelf.cpp", 1, 1, "has this message")


@pytest.mark.parametrize(
    "message",
    [
        "AttributeError: 'Pot' object has no attribute 'lid'",
        "AttributeError: module 'pots.Pot' has no attribute 'lid'",
        "TypeError: fill_pot() missing 1 required positional argument: 'lid'",
        "TypeError: fill_pot is not a function",
    ],
)
async def test_a_message_of_the_runtime_leads_to_the_names_in_it(
    make_workspace: MakeWorkspace, tmp_path: Path, message: str
) -> None:
    files = {
        "lazy.py": 'raise AttributeError(f"module {__name__!r} has no attribute {name!r}")\n',
        "proxy.py": "raise AttributeError(f\"{kind!r} object has no attribute '{name}'\")\n",
        "call.ts": "throw new TypeError(`${name} is not a function`)\n",
        "tests/test_pots.py": "patch('fill_pot'), missing('required positional argument')\n",
        "pots.py": "class Pot:\n    lid = None\n\n\ndef fill_pot(lid):\n    pass\n",
    }
    workspace = make_workspace(write_files(tmp_path, files))
    await workspace.index.build()
    assert (await search(workspace, message)).results[0].path == "pots.py"


async def test_a_name_in_a_message_is_no_similar_message(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {
        "Tea.java": 'class TeaFragment {\n    static final String TAG = "TeaFragment";\n}\n',
        "locale/de.yml": "title: Fragment of tea\n",
    }
    workspace = make_workspace(write_files(tmp_path, files))
    message = "IllegalStateException: Fragment TeaFragment{4a2} not attached to a context."
    result = await search(workspace, message)
    assert not any("message" in (hit.why or "") for hit in result.results)


async def test_a_comment_of_a_test_is_no_place_of_a_message(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {
        "tests/test_pots.py": "# 'Pot' object has no attribute 'lid' here\n",
        "pots.py": "class Pot:\n    pass\n",
    }
    workspace = make_workspace(write_files(tmp_path, files))
    result = await search(workspace, "AttributeError: 'Pot' object has no attribute 'lid'")
    assert not any("message" in (hit.why or "") for hit in result.results)


@pytest.mark.parametrize(
    "message",
    [
        "When used with -p, only the deepest pot is filled.",
        "Was this meant as a lid? Use # in a pot.",
    ],
)
async def test_a_message_may_begin_or_end_a_sentence_as_a_question_does(
    index_files: IndexFiles, message: str
) -> None:
    files = {
        "lint.py": f"def check(pot):\n    report(pot, '{message}')\n",
        "fill.py": "def fill_pot(deepest):\n    # the pot is used with a lid\n    return deepest\n",
    }
    workspace = await index_files(files)
    assert rows((await search(workspace, message)).results)[0][:3] == ("lint.py", 2, 2)


@with_index
@pytest.mark.parametrize("query", ["Forgot your password", "forgot your PASSWORD"])
async def test_a_string_is_found_by_its_whole_text(workspace: EngineWorkspace, query: str) -> None:
    found = rows((await search(workspace, query)).results)
    assert found[0] == ("web/login.ts", 3, 3, "has this text")
    assert not any(row[0] == "web/login.test.ts" and "message" in (row[3] or "") for row in found)


@with_index
@pytest.mark.parametrize(
    ("query", "line", "why"),
    [
        ("Login: forgot your password", 3, "has this text"),
        ("Forgot your password tea_9", 3, "has this text"),
        ("The link to https://example.org/reset is gone. Ask for another", 5, "has this message"),
    ],
)
async def test_a_label_may_have_more_around_it_and_an_address_in_it(
    workspace: EngineWorkspace, query: str, line: int, why: str
) -> None:
    found = rows((await search(workspace, query)).results)
    assert found[0] == ("web/login.ts", line, line, why)


@with_index
@pytest.mark.parametrize(
    ("query", "path", "line"),
    [
        ("Vault problem: unable to find the right key", "c/vault.c", 2),
        ("the bank is closed: it is not one of the days on which it opens", BANK, 5),
        ("the bank is closed.", BANK, 5),
    ],
)
async def test_a_value_at_the_end_of_a_message_may_be_long(
    workspace: EngineWorkspace, query: str, path: str, line: int
) -> None:
    found = rows((await search(workspace, query)).results)
    assert found[0] == (path, line, line, "raises this message")


@with_index
async def test_a_part_of_a_string_is_no_message(workspace: EngineWorkspace) -> None:
    result = await search(workspace, "your password")
    assert not any("message" in (hit.why or "") for hit in result.results)


@with_index
async def test_a_string_in_many_files_is_no_message(
    workspace: EngineWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow.search.code.message_sites.LABEL_FILES", 0)
    result = await search(workspace, "Forgot your password")
    assert not any("message" in (hit.why or "") for hit in result.results)


async def test_code_is_no_message(workspace: EngineWorkspace) -> None:
    result = await search(workspace, "func Dial(name string) error")
    assert not any("message" in (hit.why or "") for hit in result.results)


async def test_a_question_is_no_message(workspace: EngineWorkspace) -> None:
    result = await search(workspace, "why must the count of tea be positive?")
    assert not any("message" in (hit.why or "") for hit in result.results)


async def test_a_file_with_only_the_same_name_is_no_frame(workspace: EngineWorkspace) -> None:
    trace = TRACE.replace("site-packages/shop/cart.py", "site-packages/other/cart.py")
    result = await search(workspace, trace.replace(MESSAGE, "KeyError"))
    assert not any("frame" in (hit.why or "") for hit in result.results)


@pytest.mark.parametrize("tool", ["code_search", "semantic_search", "keyword_search"])
async def test_a_query_of_a_megabyte_is_answered(workspace: EngineWorkspace, tool: str) -> None:
    query = f"{MESSAGE}\n" + "2026-01-02 10:11:12 INFO started\n" * 40_000
    params: dict[str, Any] = {"query": query[:QUERY_CHARACTERS]}
    if tool == "keyword_search":
        params |= {"search_terms": ["must be positive"], "ranker": "local"}
    answer: Any = await TOOLS[tool].call(workspace, params, no_progress)
    assert answer.returned > 0


async def test_a_word_that_is_too_long_for_a_command_line_is_answered(
    workspace: EngineWorkspace,
) -> None:
    result = await search(workspace, "x" * QUERY_CHARACTERS)
    assert result.results == []
    assert result.reason.endswith("it is long")
    with pytest.raises(InvalidParams, match="at most 20,000 characters"):
        await search(workspace, "x" * QUERY_CHARACTERS, search_type="text")


def matched(text: str, *matching: int) -> MatchedText:
    return MatchedText("x", dict(enumerate(text.split("\n"), 1)), matching)


@pytest.mark.parametrize(
    "source",
    [
        'raise E("no %s in the file %d" % (a, b))',
        'raise E("no {} in the file {:>4}".format(a, b))',
        'raise E(f"no {a.b!r} in the file {c}")',
        "throw new E(`no ${a} in the file ${b}`)",
        'raise E, "no #{a} in the file #{b}"',
        'throw E("no " + a + " in the file " + b)',
        'fatalError("no \\(a) in the file \\(b)")',
        'die "no $a in the file $b";',
        'panic!("no {a} in the file {}", b)',
        'error(_("no %(name)s in the file %(number)d"))',
        'err = error("-no %s in the file %d");',
        'err = error("no %" NAME " in the file %03" PRIu64);',
    ],
)
def test_strings_with_placeholders_are_compared(source: str) -> None:
    [site] = sites_in(matched(source, 1), "no 'tea' in the file 12")
    assert (site.first, site.last, site.raises, site.score) == (1, 1, True, 1.0)


def test_a_string_that_began_further_up_is_found() -> None:
    text = (
        "throw new TypeError(\n  `You brought ${\n    x ? 'a' : `'${y}'`\n"
        "  } where a cup was expected. You can bring a mug.`\n);"
    )
    message = "You brought 'tea' where a cup was expected. You can bring a mug."
    best = next(sites_in(matched(text, 4), message))
    assert (best.first, best.raises) == (4, True)


def test_a_string_continues_behind_a_placeholder_of_several_lines() -> None:
    text = (
        "throw new Error(\n  `You brought tea where a cup was expected: ${kind(\n    cup\n"
        "  )}'. A mug holds more of it.`\n)"
    )
    message = "You brought tea where a cup was expected: 'mug'. A mug holds more of it."
    best = next(sites_in(matched(text, 2, 4), message))
    assert (best.first, best.last) == (2, 4)


@pytest.mark.parametrize("message", ["the tea is not", "tea is not warm enough"])
def test_a_part_of_a_message_is_compared(message: str) -> None:
    [site] = sites_in(matched("error('the tea is not warm enough for you')", 1), message)
    assert (site.first, site.score) == (1, 1.0)


@pytest.mark.parametrize(
    ("source", "last"),
    [
        ('warn <<~MSG\n  You haven\'t brought the `tea-pot`\n  to the room.\nMSG\nx = "why"', 3),
        ('val text = """\n  |You haven\'t brought ${name}\n  |to the room.\n""".trimMargin()', 3),
    ],
)
def test_a_message_is_found_in_a_text_of_several_lines(source: str, last: int) -> None:
    message = "You haven't brought the `tea-pot` to the room."
    [site] = sites_in(matched(source, 2), message)
    assert (site.first, site.last) == (2, last)
    assert site.score > 0.7


def test_a_short_message_is_found_near_its_type() -> None:
    assert quoted_terms("timeout") == ['"timeout"', "'timeout'"]
    assert quoted_terms("the tea is cold") == quoted_terms("'tea'") == []
    source = 'f("timeout")\n\n\n\n\nthrow TeaException("Timeout")\nthrow TeaException("no timeout")'
    [site] = sites_in(matched(source, 1, 6, 7), "timeout", "shop.TeaException")
    assert (site.first, site.makes) == (6, "whole")


def test_a_word_of_a_short_message_may_be_a_value() -> None:
    assert "not verified" in source_terms("Hostname example.com not verified")
    assert "not verified" not in source_terms("The kettle in the room is not verified by us")


def test_a_docstring_makes_no_message() -> None:
    docstring = '        """Continue a failed upload from the last part."""'
    lines = {6: "    def resume(self, offset):", 7: docstring, 8: "        return offset"}
    (site,) = sites_in(MatchedText("uploads.py", lines, [7]), "continue a failed upload")
    assert not site.makes
    assert not site.raises
    assert site.score < 0.5


def test_what_a_string_says_raises_nothing() -> None:
    lines = {6: "items = [", 7: '    "Retry the failed upload",', 8: "]"}
    (site,) = sites_in(MatchedText("menu.py", lines, [7]), "retry the failed upload")
    assert site.makes
    assert not site.raises


def test_a_comment_is_worse_than_the_code() -> None:
    text = "# no tea in the file today\nx = 1\ny = 2\nz = 3\nraise E('no tea in the file today')"
    best, worse = sites_in(matched(text, 1, 5), "no tea in the file today")
    assert (best.first, worse.first, worse.raises) == (5, 1, False)


@pytest.mark.parametrize(
    ("line", "message", "expected"),
    [
        (
            'raise Missing(f"Route [{name}] is not defined.")',
            "Route [login] is not defined",
            "whole",
        ),
        ('"No results for [{$model}]"', "No results for [App\\Post] 5, 6", "whole"),
        ('"%s returned more than one %s!"', "get() returned more than one Post!", "whole"),
        (
            '"\\n*** CONFIG FILE ERROR (Shop %s) ***\\n"',
            "*** CONFIG FILE ERROR (Shop 7.2) ***",
            "whole",
        ),
        ('"-WRONGTYPE Operation of this kind\\r\\n"', "WRONGTYPE Operation of this kind", "whole"),
        ('fmt.Errorf("lock the folder: %w", err)', "cannot open: lock the folder: busy", "part"),
        ('Log(f"Dialing failed. {err}")', "Dialing failed. The name is unknown: tea", "part"),
        ('err = f"The name is unknown: {e}"', "Dialing failed. The name is unknown: tea", "part"),
        ('"Dialing failed."', "Dialing failed! Call later", "part"),
        ('info(f"Consuming {name}")', "Consuming /tmp/a.pdf", "whole"),
        ('info(f"Consuming {name}")', "Consuming orders", ""),
        ('"Consuming"', "Consuming /tmp/a.pdf", ""),
        ('"The name is"', "Dialing failed. The name is unknown: tea", ""),
        ('NO_COOKIE = "Cookie is not set."', "Forbidden (Cookie is not set.): /login", "part"),
        ('"is from room #{a}: #{b}"', "Kettle is from room 7: no tea", "part"),
        ('"is from room #{a}: #{b}"', "The kettle is from room 7: no tea", ""),
        ('"is not set"', "Forbidden (Cookie is not set.): /login", ""),
        ('"%s is not set"', "the page about what is done if a cookie is not set", ""),
        ('"%s: %s"', "Forbidden: /login", ""),
        ('tr("Shelf %1 of %L2 is full")', "Shelf Left of 7 is full", "whole"),
        ('"Shelf %@ is full"', "Shelf Left is full", "whole"),
    ],
)
def test_a_string_makes_a_message_or_a_part_of_it(line: str, message: str, expected: str) -> None:
    sites = list(sites_in(MatchedText("a.py", {1: line}, [1]), message))
    assert [site.makes for site in sites if site.makes] == ([expected] if expected else [])


KETTLE = "Kettle 7 of kitchen 2 boils, so the tea is ready"


@pytest.mark.parametrize(
    "text",
    [
        'infof(k, "Kettle %" PRIu64 " of kitchen %" FMT_ID " boils, so the tea is %s",',
        'log("Kettle " + number + " of kitchen " + kitchen + " boils, so the tea is " + state);',
        "log('Kettle ' . $number . ' of kitchen ' . $kitchen . ' boils, so the tea is ready');",
        'raise E(\n  f"Kettle {number} of kitchen "\n  f"{kitchen} boils, so the tea is ready"\n)',
        'log.warn("Kettle {} of kitchen {} boils, "\n  + "so the tea is {}", number, at)',
        "throw new Late('Kettle ' +\n  number +\n  ' of kitchen 2 boils, so the tea is ready')",
        'cerr << "Kettle " << number << " of kitchen " << at\n<< " boils, so the tea is ready";',
        'what + " 7 of kitchen 2 boils, so the tea is ready" # Kettle',
        'die("Kettle %d of kitchen %d boils, "\n    "so the tea is ready")',
    ],
)
def test_a_string_in_pieces_makes_a_message(text: str) -> None:
    lines = range(1, text.count("\n") + 2)
    making = [site for site in sites_in(matched(text, *lines), KETTLE) if site.makes]
    assert [(site.makes, text.split("\n")[site.first - 1].count("ettle")) for site in making] == [
        ("whole", 1)
    ]


@pytest.mark.parametrize(
    "line",
    [
        'pour("Kettle 7 of kitchen 2", "boils, so the tea is ready")',
        'pour("Kettle 7 of kitchen 2") if hot else pour("boils, so the tea is ready")',
        "{'Kettle 7 of kitchen 2': 'boils, so the tea is ready'}",
        'pour("Kettle 7 of kitchen 2 boils, so the".upper())',
    ],
)
def test_several_strings_of_a_line_make_no_message(line: str) -> None:
    assert not any(site.makes for site in sites_in(matched(line, 1), KETTLE))
