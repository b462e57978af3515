"""Suggestions are names near the query, then earlier queries, for a search that found little."""

from __future__ import annotations

from winnow.ranking.suggestions import found_little, suggest


def test_few_results_or_low_scores_are_little() -> None:
    assert found_little([0.9, 0.8])
    assert found_little([0.2, 0.1, 0.1])
    assert not found_little([0.5, 0.1, 0.1])


def test_terms_come_before_queries_without_repetition() -> None:
    asked: list[list[str]] = []

    def known(words: object) -> list[str]:
        asked.append(list(words))  # type: ignore[call-overload]
        return ["Plugins", "load_plugin"]

    helped = ["Where are the PLUGINS ", "plugin registry"]
    assert suggest("where are the plugins", helped, known) == ["load_plugin", "plugin registry"]
    assert asked == [["plugins"]]
