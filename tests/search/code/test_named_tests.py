"""Lines in which test runners name a test."""

from __future__ import annotations

import re

import pytest

from winnow.search.code.named_tests import named_test, title_of_test
from winnow.search.code.query_kind import readings

LINES = {
    "tests/test_a.py::test_x": "test_x path:tests/test_a.py",
    "tests/test_a.py::TestA::test_x[a b-1]": "TestA.test_x path:tests/test_a.py",
    "FAILED tests/test_a.py::test_x - AssertionError: assert 1 == 2": "test_x path:tests/test_a.py",
    "tests/test_a.py::test_x PASSED                    [ 50%]": "test_x path:tests/test_a.py",
    "--- FAIL: TestOpen/no_file (0.05s)": "TestOpen",
    "=== RUN   TestOpen": "TestOpen",
    "TestOpen/no_file": "TestOpen",
    "test shop::tests::pays ... FAILED": "shop::tests::pays",
    "---- shop::tests::pays stdout ----": "shop::tests::pays",
    "Shop.Tests.BankTests.Pays [FAIL]": "Shop.Tests.BankTests.Pays",
    "Failed Shop.Tests.BankTests.Pays(amount: 3) [5 ms]": "Shop.Tests.BankTests.Pays",
    r"1) Tests\Unit\BankTest::testPays with data set #1": r"Tests\Unit\BankTest::testPays",
    "org.shop.BankTest > pays() FAILED": "BankTest.pays",
}


@pytest.mark.parametrize("line", LINES)
def test_the_line_of_a_test_runner_names_a_test(line: str) -> None:
    assert named_test(line) == LINES[line]
    first = readings(line)[0]
    assert (first.search, first.wanted, first.why) == ("symbol", LINES[line], "it names a test")


@pytest.mark.parametrize(
    "line",
    [
        " FAIL  web/cart.test.ts > cart > items > adds an item",
        "● cart › items › adds an item",
        "× web/cart.test.ts > cart > adds an item 15ms",
        "✓ adds an item (1.5 s)",
        "● cart › adds an item\n\n    Expected: 1\n    Received: 0",
    ],
)
def test_the_line_of_a_javascript_test_runner_has_the_title_of_a_test(line: str) -> None:
    first = readings(line)[0]
    assert (first.search, first.why) == ("text", "it names a test")
    assert re.search(first.wanted, 'it("adds an item", () => {')
    assert not re.search(first.wanted, "exports[`cart > adds an item 1`]")


def test_a_place_in_the_output_of_a_test_says_more_than_its_title() -> None:
    output = "FAIL a.test.ts > cart > adds an item\n ❯ web/cart.test.ts:12:5"
    assert readings(output)[0].why != "it names a test"


@pytest.mark.parametrize(
    "text",
    [
        "FAIL web/cart.test.ts",
        "a > b is false",
        "test the parser ... and more",
        "how does pytest collect tests",
        "src/test_a.py",
        "std::vector",
        "Test/unit",
        "1) first do this",
        "a > b FAILED to compare",
        "--- a/src/x.py",
    ],
)
def test_other_texts_name_no_test(text: str) -> None:
    assert named_test(text) == title_of_test(text) == ""
