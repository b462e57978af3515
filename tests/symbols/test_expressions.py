"""The text form of expressions and type sources, and the structs that it encodes."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from winnow.symbols.expressions import (
    _STEP,
    CALL,
    OR,
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
    is_declared,
    parse_expression,
    parse_sources,
)
from winnow.symbols.extract.driver import extract
from winnow.symbols.language import language_of, languages

FIXTURES = Path(__file__).parent / "fixtures"
_ANY_STEP = re.sub(r"\?P<\w+>", "?:", _STEP.pattern)
# A dot is before a name, and nowhere else.
COMPLETE = re.compile(
    rf"(?:\[\])?(?:{_ANY_STEP})(?:(?:\.(?=[\w$#])|(?![\w$#]))(?:{_ANY_STEP}))*|\?"
)


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
def test_expressions_are_parsed(text: str, expression: Expression) -> None:
    assert parse_expression(text) == expression


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
def test_type_sources_are_parsed(text: str, sources: list[DeclaredType | AssignedValue]) -> None:
    assert parse_sources(text) == tuple(sources)


def test_the_text_of_real_receivers_consists_of_steps() -> None:
    checked = 0
    for path in sorted(FIXTURES.iterdir()):
        language = language_of(path.name)
        if language is None or language.rules is None:
            continue
        table = extract(languages()[language.name], path.read_bytes()).scope_table
        for text in table.receivers[1:]:
            assert COMPLETE.fullmatch(text), text
        for texts in (*table.types.values(), *table.returns.values()):
            for source in itertools.chain(*(text.split(OR) for text in texts.values())):
                assert is_declared(source) or COMPLETE.fullmatch(source.partition("=")[2]), source
                checked += 1
    assert checked > 50
