"""Messages in catalogs: the code that shows them names their keys."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from asking import answered
from conftest import MakeWorkspace, write_files
from winnow.config import Config, IndexSettings
from winnow.search.code.message_catalogs import (
    is_catalog,
    key_of,
    patterns_of,
    texts_without_quotes,
)
from winnow.tools import TOOLS
from winnow.tools.code_search import CodeSearchResult
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

STRINGS = "app/src/main/res/values{}/strings.xml"
OTHERS = '<resources>\n    <string name="tea_gone">Not enough tea &amp; milk in %1$s</string>\n'
FILES = {
    STRINGS.format(""): (
        f'{OTHERS}    <string name="gone">The pot isn\\\'t there</string>\n'
        '    <string name="brew">Brew another pot</string>\n</resources>\n'
    ),
    STRINGS.format("-de"): (
        '<resources>\n    <string name="tea_gone">Der Kamillentee in %1$s ist alle</string>\n'
        "</resources>\n"
    ),
    STRINGS.format("-a"): f"{OTHERS}</resources>\n",
    "app/src/main/Tea.kt": (
        "class Tea {\n"
        "    fun brew(room: String) = getString(R.string.tea_gone, room)\n"
        '    fun gone() = mapOf("gone" to R.string.gone)\n'
        "}\n"
    ),
    "app/src/main/res/layout/tea.xml": '<Button android:text="@string/brew" />\n',
    "web/locales/en.json": (
        "{\n"
        '  "alerts": {\n'
        '    "tooBig": "The kettle is too big. At most {{most}} fit."\n'
        "  },\n"
        '  "buttons": {\n'
        '    "boil": "Boil the water",\n'
        '    "full": "The {{color}} pot is full of tea",\n'
        '    "pour": "Pour the tea"\n'
        "  },\n"
        '  "404-lid": "404 Lid not found",\n'
        '  "moved": "Moving the kettle may break some cups. Wash them first."\n'
        "}\n"
    ),
    "web/kettle.ts": (
        "export const kettle = (most: number) => {\n"
        '  throw new Error(t("alerts.tooBig", { most }))\n'
        "}\n"
        'export const other = { tooBig: 1, boil: "boil" }\n'
        'export const label = t("buttons.boil")\n'
        'export const full = t("buttons.full", { color })\n'
        'export const lid = t("404-lid")\n'
        'export const moved = t("moved")\n'
    ),
    "web/locales/ar.json": '{\n  "404-lid": "404 Lid not found"\n}\n',
    "config/locales/en.yml": "en:\n  teapot:\n    broken: The teapot is broken\n",
    "lib/teapot.rb": 'def pour\n  raise I18n.t("teapot.broken")\nend\n',
    "lang/en/cups.php": "<?php\nreturn [\n    'full' => 'The :thing cup is not empty.',\n];\n",
    "src/Cups.php": "<?php\nfunction fill() {\n    return trans('cups.full');\n}\n",
    "src/Full.php": "<?php\nfunction isFull() {\n    return config('full');\n}\n",
    "net/Resources.resx": (
        '<root>\n  <data name="Spilled" xml:space="preserve">\n'
        "    <value>The milk was not poured</value>\n  </data>\n</root>\n"
    ),
    "net/Milk.cs": 'class Milk {\n    string Spilled() => GetString("Spilled");\n}\n',
    "app/templates/stir.html": "<p>\n  Stir the tea\n</p>\n{% translate 'Let it cool' %}\n",
    "app/templates/pour.html": (
        "<input value=\"{% translate 'Pour and stir' %}\">\n"
        "{% blocktranslate %}A cup is left.{% plural %}Two cups are left.{% endblocktranslate %}\n"
    ),
    "web/Cup.tsx": "export const Cup = () => <b>Wash the cup</b>\n",
    "web/pots.component.ts": "export const clean = $localize`Clean all pots`\n",
    **{
        f"web/locale/messages.{language}.xlf": (
            '<file>\n  <trans-unit id="73">\n    <source>Clean all pots</source>\n'
            '    <context-group purpose="location">\n'
            '      <context context-type="sourcefile">web/pots.component.ts</context>\n'
            '      <context context-type="linenumber">1</context>\n    </context-group>\n'
            f"    <target>Alle Kannen reinigen {language}</target>\n  </trans-unit>\n</file>\n"
        )
        for language in map(str, range(30))
    },
    "tea/Settings.ui": "<widget>\n <string>Rinse every cup before serving</string>\n</widget>\n",
    **{
        f"t/translations/tea_{language}.ts": (
            '<?xml version="1.0"?><!DOCTYPE TS><TS>\n<message>\n'
            "    <source>Rinse every cup before serving</source>\n"
            f"    <translation>Vor dem Servieren alle spülen {language}</translation>\n</message>\n"
        )
        for language in (f"d{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")
    },
    "locale/de.po": 'msgid "Let it cool"\nmsgstr "Abkühlen lassen, bitte"\n',
    "web/package.json": '{\n  "displayName": "All about good tea"\n}\n',
    "web/names.ts": "export const a = { displayName: 'a' }\n" * 30,
    "ftl/tea.ftl": "tea-too-hot = This tea is far too hot\ntea-pot-cold = No pot is that cold\n",
    "tea/hot.rs": "fn hot(tr: &I18n) {\n    panic!(tr.tea_too_hot())\n}\n",
    "tea/cold.ts": "export const cold = () => alert(tr.teaPotCold())\n",
    "docs/tea.md": "It may say: The teapot is broken\n",
}


@pytest.fixture(params=["off", "on"], ids=["without an index", "with an index"])
async def workspace(
    make_workspace: MakeWorkspace, tmp_path: Path, request: pytest.FixtureRequest
) -> EngineWorkspace:
    settings = IndexSettings(enabled=request.param == "on", embeddings="off")
    workspace = make_workspace(write_files(tmp_path, FILES), config=Config(index=settings))
    if request.param == "on":
        await workspace.index.build()
    return workspace


async def found(workspace: EngineWorkspace, query: str) -> list[tuple[str, int | None, str]]:
    """Return the places about a message."""
    raw = {"query": query}
    result = await answered(
        TOOLS["code_search"], CodeSearchResult, workspace, raw, no_progress, items="results"
    )
    rows = [(hit.path, hit.line, hit.why or "") for hit in result.results]
    return [row for row in rows if "this text" in row[2] or "this message" in row[2]]


Place = tuple[str, int]


def places(key: str, shown: Place, catalog: Place) -> list[tuple[str, int, str]]:
    """Return the expected places: the code that shows a text, and the catalog that has it."""
    return [(*shown, f"shows this text, `{key}`"), (*catalog, f"has this text, `{key}`")]


@pytest.mark.parametrize(
    ("query", "shown", "catalog", "key"),
    [
        (
            "Not enough tea & milk in room 3",
            ("app/src/main/Tea.kt", 2),
            (STRINGS.format(""), 2),
            "string.tea_gone",
        ),
        (
            "The pot isn't there",
            ("app/src/main/Tea.kt", 3),
            (STRINGS.format(""), 3),
            "string.gone",
        ),
        (
            "The kettle is too big. At most 3 fit.",
            ("web/kettle.ts", 2),
            ("web/locales/en.json", 3),
            "alerts.tooBig",
        ),
        (
            "The blue cup is not empty.",
            ("src/Cups.php", 3),
            ("lang/en/cups.php", 3),
            "full",
        ),
        ("This tea is far too hot", ("tea/hot.rs", 2), ("ftl/tea.ftl", 1), "tea-too-hot"),
        ("No pot is that cold", ("tea/cold.ts", 1), ("ftl/tea.ftl", 2), "tea-pot-cold"),
        (
            "The milk was not poured",
            ("net/Milk.cs", 2),
            ("net/Resources.resx", 3),
            "Spilled",
        ),
    ],
)
async def test_the_code_that_names_the_key_of_a_message_is_first(
    workspace: EngineWorkspace, query: str, shown: Place, catalog: Place, key: str
) -> None:
    assert await found(workspace, query) == places(key, shown, catalog)


@pytest.mark.parametrize("workspace", ["on"], indirect=True)
@pytest.mark.parametrize(
    ("query", "shown", "catalog", "key"),
    [
        # What a person sees may be in another language, and need not be an error.
        (
            "Der Kamillentee in Zimmer 3 ist alle",
            ("app/src/main/Tea.kt", 2),
            (STRINGS.format("-de"), 2),
            "string.tea_gone",
        ),
        (
            "Brew another pot",
            ("app/src/main/res/layout/tea.xml", 1),
            (STRINGS.format(""), 4),
            "string.brew",
        ),
        (
            "The green pot is full of tea",
            ("web/kettle.ts", 6),
            ("web/locales/en.json", 7),
            "buttons.full",
        ),
        ("Boil the water", ("web/kettle.ts", 5), ("web/locales/en.json", 6), "buttons.boil"),
        ("404 Lid not found", ("web/kettle.ts", 7), ("web/locales/en.json", 10), "404-lid"),
        # One sentence of two, and an unfinished one.
        (
            "Moving the kettle may break some cups.",
            ("web/kettle.ts", 8),
            ("web/locales/en.json", 11),
            "moved",
        ),
        (
            "moving the kettle may break",
            ("web/kettle.ts", 8),
            ("web/locales/en.json", 11),
            "moved",
        ),
        (
            "The teapot is broken",
            ("lib/teapot.rb", 2),
            ("config/locales/en.yml", 3),
            "en.teapot.broken",
        ),
    ],
)
async def test_a_text_on_the_screen_leads_to_the_code_that_shows_it(
    workspace: EngineWorkspace, query: str, shown: Place, catalog: Place, key: str
) -> None:
    assert (await found(workspace, query))[:2] == places(key, shown, catalog)


@pytest.mark.parametrize("workspace", ["on"], indirect=True)
@pytest.mark.parametrize(
    ("query", "path", "line", "why"),
    [
        ("Stir the tea", "app/templates/stir.html", 2, "has this text"),
        ("wash the cup", "web/Cup.tsx", 1, "has this text"),
        ("Pour and stir", "app/templates/pour.html", 1, "has this text"),
        ("Two cups are left.", "app/templates/pour.html", 2, "has this text"),
        ("Clean all pots", "web/pots.component.ts", 1, "has this text"),
        (
            "alle Kannen reinigen 7",
            "web/pots.component.ts",
            1,
            "shows this text, `Clean all pots`",
        ),
        (
            "Vor dem Servieren alle spülen de",
            "tea/Settings.ui",
            2,
            "shows this text, `Rinse every cup before serving`",
        ),
        (
            "Abkühlen lassen, bitte",
            "app/templates/stir.html",
            4,
            "shows this text, `Let it cool`",
        ),
    ],
)
async def test_texts_of_code_are_found_in_any_language(
    workspace: EngineWorkspace, query: str, path: str, line: int, why: str
) -> None:
    assert (await found(workspace, query))[0] == (path, line, why)


async def test_a_label_that_no_code_shows_is_searched_by_meaning(
    workspace: EngineWorkspace,
) -> None:
    assert await found(workspace, "Pour the tea") == []


async def test_a_key_that_is_a_common_name_leads_nowhere(workspace: EngineWorkspace) -> None:
    assert await found(workspace, "All about good tea") == []


@pytest.mark.parametrize(
    ("path", "text", "key"),
    [
        ("a.json", '{"a": {\n  "b": {\n    "other": "x",\n    "c": "y"\n  }\n}}', ("b", "c")),
        ("a.yml", "de:\n  a:\n    x: 1\n  b:\n    c: y", ("de", "b", "c")),
        ("a.yml", "- y", ()),
        ("a.json", '{\n  "404-page": "y"\n}', ("404-page",)),
        ("a.properties", "a.b.c=y", ("a.b.c",)),
        ("a.strings", '"c" = "y";', ("c",)),
        (
            "a.xlf",
            '<trans-unit id="1">\n<source>Hot &amp; </source>\n<x/>\n<x/>\n<x/>\n<target>y',
            ("Hot &",),
        ),
        (
            "a.xlf",
            '<trans-unit id="tea.hot">\n  <source>x</source>\n  <target>y</target>',
            ("tea.hot",),
        ),
        ("a.ts", "<message>\n<source>Hot</source>\n<translation>y</translation>", ("Hot",)),
        ("a.ts", "<message>\n<source>Hot</source>\n<translation>x\ny</translation>", ("Hot",)),
        ("a.ts", "export default {\n  b: {\n    c: 'y',", ("b", "c")),
        ("a.po", 'msgid "Tea"\nmsgstr "x"\n\nmsgid "Pots"\nmsgstr "y"\n', ("Pots",)),
        ("a.po", 'msgid ""\n"Tea "\n"is hot\\n"\n"or not"\nmsgstr ""\n"y"\n', ("Tea is hot",)),
    ],
)
def test_a_key_has_the_mappings_around_it(path: str, text: str, key: tuple[str, ...]) -> None:
    lines = text.split("\n")
    [number] = [at for at, line in enumerate(lines, 1) if "y" in line]
    assert key_of(path, lines, number) == key


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("web/locales/en.json", True),
        ("src/i18n/de/common.ts", True),
        ("lang/en/validation.php", True),
        ("src/lang.js", True),
        ("src/language/parser.md", False),
        ("src/kettle.ts", False),
        # An application that is about languages.
        ("app/locales/views.py", False),
        ("app/i18n/forms/utils.py", False),
        ("app/locales/reviews.py", True),
    ],
)
def test_catalogs_are_known_by_their_paths(path: str, expected: bool) -> None:
    assert is_catalog(path) is expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", ["a:", "a: ", "a//", "<a ", "<a name=", ">", "> <", "trans", " ", "{%", "{{'", "%}x"]
)
@pytest.mark.parametrize("path", ["a.json", "a.xml", "a.po", "a.tsx", "lang/" * 800 + "a.ts"])
def test_long_lines_take_linear_time(path: str, part: str) -> None:
    started = time.process_time()
    line = part * (1_000_000 // len(part)) + "//"
    assert sum(map(len, texts_without_quotes(path, line))) <= 3 * len(line)
    short = part * (400 // len(part)) + "//"
    assert len(key_of(path, [short] * 20_000, 20_000)) <= 8
    key = key_of(path, [line] * 3, 2)
    assert len(key) <= 8
    assert len(key_of(path, ["<target>", *[short] * 20_000], 20_001)) <= 8
    for pattern, _ in patterns_of(key or ("none",), "b"):
        pattern.search(line)
    assert time.process_time() - started < 3
