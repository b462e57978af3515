"""Lines in which test runners name a test."""

from __future__ import annotations

import pytest

from winnow.search.code.named_tests import named_test
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
    "text",
    [
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
    assert named_test(text) == ""
