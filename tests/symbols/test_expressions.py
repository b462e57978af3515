"""The text form of expressions and type sources, and the structs that it encodes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.symbols.expressions import (
    CALL,
    ArgumentStep,
    AssignedValue,
    CallStep,
    CastStep,
    DeclaredType,
    Expression,
    FieldsStep,
    ItemStep,
    ListStep,
    NameStep,
    ScopeStep,
    Step,
    parse_expression,
    parse_sources,
    print_sources,
)
from winnow.symbols.extract.driver import extract
from winnow.symbols.language import language_of, languages

FIXTURES = Path(__file__).parent / "fixtures"


def chain(*steps: Step) -> Expression:
    return Expression(steps)


CLIENT = NameStep("client")


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("client", chain(CLIENT)),
        ("client.send", chain(CLIENT, NameStep("send"))),
        ("client()", chain(CLIENT, CALL)),
        ("client()$1.send", chain(CLIENT, CallStep(1), NameStep("send"))),
        ("client()$0", chain(CLIENT, CallStep(0))),
        ("client[]", chain(CLIENT, ItemStep())),
        ("client(#2)", chain(CLIENT, ArgumentStep(2))),
        ("<Map<K, V>>.size", chain(CastStep("Map<K, V>"), NameStep("size"))),
        ("{12}.#size", chain(ScopeStep(12), NameStep("#size"))),
        ("[]client()", chain(ListStep(chain(CLIENT, CALL)))),
        ("{.a.b", chain(FieldsStep(), NameStep("a"), NameStep("b"))),
        ("?", chain()),
    ],
)
def test_an_expression_has_one_text(text: str, expression: Expression) -> None:
    assert parse_expression(text) == expression
    assert str(expression) == text


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        (":Client | None", [DeclaredType("Client | None")]),
        (":", [DeclaredType("")]),
        ("=client()", [AssignedValue(chain(CLIENT, CALL))]),
        ("@12=client", [AssignedValue(chain(CLIENT), 12)]),
        ("@0:Client", [DeclaredType("Client", 0)]),
        ("=client\0:T", [AssignedValue(chain(CLIENT)), DeclaredType("T")]),
    ],
)
def test_type_sources_have_one_text(text: str, sources: list[DeclaredType | AssignedValue]) -> None:
    assert parse_sources(text) == tuple(sources)
    assert print_sources(sources) == text


NAMES = st.from_regex(r"[A-Za-z_$#][\w$#]{0,8}", fullmatch=True).map(NameStep)
TYPES = st.sampled_from(["T", "Map<K, V>", "a.b.C[]", "struct s", "", "A<B<C<D>>>"])
NUMBERS = st.integers(0, 99)
FIRST = NAMES | st.builds(CastStep, TYPES) | st.builds(ScopeStep, NUMBERS)
LATER = (
    NAMES
    | st.builds(CallStep, st.none() | NUMBERS)
    | st.just(ItemStep())
    | st.builds(ArgumentStep, NUMBERS)
)
CHAINS = st.builds(
    lambda first, later: Expression((first, *later)), FIRST, st.lists(LATER, max_size=5)
)


@given(CHAINS | st.builds(lambda item: Expression((ListStep(item),)), CHAINS))
def test_expressions_survive_printing_and_parsing(expression: Expression) -> None:
    assert parse_expression(str(expression)) == expression


def test_the_text_of_real_receivers_survives_parsing_and_printing() -> None:
    checked = 0
    for path in sorted(FIXTURES.iterdir()):
        language = language_of(path.name)
        if language is None or language.rules is None:
            continue
        table = extract(languages()[language.name], path.read_bytes()).scope_table
        for text in table.receivers[1:]:
            assert str(parse_expression(text)) == text
        for texts in (*table.types.values(), *table.returns.values()):
            for text in texts.values():
                assert print_sources(parse_sources(text)) == text
                checked += 1
    assert checked > 50
