"""Tests of the registry: names, schemas and untrusted params."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.errors import InvalidParams
from winnow.tools import TOOLS
from winnow.tools.keyword_search import KeywordSearchParams
from winnow.tools.read_file import Span
from winnow.tools.registry import Tool

TOOL = TOOLS["keyword_search"]
GOOD = {"query": "q", "search_terms": ["a"]}


def test_names_are_derived_from_the_coroutine() -> None:
    assert (TOOL.name, TOOL.method, TOOL.command) == (
        "keyword_search",
        "$/keywordSearch",
        "keyword-search",
    )


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_every_tool_and_field_has_a_description(tool: Tool[Any, Any]) -> None:
    assert tool.description
    assert tool.input_schema["type"] == "object"
    assert "$ref" not in str(tool.input_schema)
    for field in tool.fields:
        assert field.description.endswith("."), field.name
        assert tool.input_schema["properties"][field.name]["description"] == field.description


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": 5}, "`query`: expected string, got integer"),
        ({"search_terms": ["a", 5]}, "`search_terms[1]`: expected string, got integer"),
        ({"search_terms": []}, "`search_terms`: expected array of length >= 1"),
        ({"search_terms": [""]}, "`search_terms[0]`: expected string of length >= 1"),
        ({"serach_terms": ["a"]}, "`serach_terms`: unknown field; valid fields: "),
        ({"max_results": "5"}, "`max_results`: expected integer, got string"),
        ({"search_terms": None}, "`search_terms`: expected array, got null"),
        ({"ranker": "best"}, "`ranker`: invalid enum value 'best'; valid values: auto, "),
        ({"search_terms": ["a\x00"]}, "`search_terms[0]`: control character '\\x00'"),
        ({"search_terms": ["\ud800"]}, "`search_terms[0]`: not valid Unicode"),
    ],
)
def test_invalid_values_name_the_field(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParams) as invalid:
        TOOL.parse({**GOOD, **change})
    assert invalid.value.message.lower().startswith(message.lower())


@pytest.mark.parametrize(
    ("pasted", "typed"),
    [
        ("\x1b[1;31merror\x1b[0m: \x1b[Kno such file\r\n", "error: no such file\r\n"),
        ("\x1b]8;;http://a.b/\x1b\\link\x1b]8;;\x07 \x1b[?25lend\x1b", "link end"),
        ("\ufeffwhere \u202ais\u202c it\x00 \ud83d", "where is it "),
        ("می\u200cخواهم", "می\u200cخواهم"),
    ],
)
def test_a_query_loses_the_invisible_characters_of_a_pasted_text(pasted: str, typed: str) -> None:
    params = TOOL.parse({**GOOD, "query": pasted})
    assert isinstance(params, KeywordSearchParams)
    assert params.query == typed


def test_a_missing_field_is_named() -> None:
    with pytest.raises(InvalidParams, match="`query`: required"):
        TOOL.parse({"search_terms": ["a"]})
    with pytest.raises(InvalidParams, match="expected an object, got array"):
        TOOL.parse([])


def test_a_bare_string_is_a_list_of_one_item() -> None:
    params = TOOL.parse({"query": "q", "search_terms": "a", "include": "*.py"})
    assert params == KeywordSearchParams(query="q", search_terms=["a"], include=["*.py"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(max_examples=100)
@given(st.dictionaries(st.integers(0, 30), JSON), st.dictionaries(st.text(), JSON) | st.just({}))
def test_any_data_is_valid_or_an_error_with_a_bounded_message(
    known: dict[int, Any], unknown: dict[str, Any]
) -> None:
    """Params for every tool with the same values."""
    for tool in TOOLS.values():
        names = [field.name for field in tool.fields]
        raw = unknown | {
            names[place % len(names)]: value for place, value in known.items() if names
        }
        try:
            params = tool.parse(raw)
        except InvalidParams as error:
            said: object = error.message
        else:
            said = params
        assert isinstance(said, tool.params) or 0 < len(str(said)) < 3000, tool.name


def test_ranges_may_be_written_as_text() -> None:
    expected = [Span(start=10, end=20), Span(start=7, end=7), Span(start=40)]
    spans = ["10-20", " 7 ", {"start": 40}]
    assert TOOLS["read_file"].parse({"path": "a", "spans": spans}).spans == expected
    assert TOOLS["read_file"].parse({"path": "a", "spans": "40-"}).spans == expected[2:]
    assert TOOLS["read_file"].parse({"path": "a", "spans": {"start": 40}}).spans == expected[2:]


def test_schemas_inline_their_structs() -> None:
    spans = TOOLS["read_file"].input_schema["properties"]["spans"]
    as_object, as_text = spans["items"]["anyOf"]
    assert as_object["properties"]["start"]["type"] == "integer"
    assert as_object["additionalProperties"] is False
    assert as_text["type"] == "string"
    mode = TOOLS["grep"].input_schema["properties"]["mode"]
    assert (mode["type"], mode["enum"]) == ("string", ["counts", "files", "line_counts", "matches"])


def test_null_means_a_missing_field() -> None:
    """Models that must name every field send it."""
    nothing = dict.fromkeys((field.name for field in TOOLS["grep"].fields), None)
    given = {**nothing, "pattern": "x", "max_results": 3}
    assert TOOLS["grep"].parse(given) == TOOLS["grep"].parse({"pattern": "x", "max_results": 3})
    with pytest.raises(InvalidParams, match="pattern"):
        TOOLS["grep"].parse(nothing)
