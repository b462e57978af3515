"""Compare the quality of a ranked search in a search cluster with that of a local index.

    python benchmarks/cluster_quality.py --annotations dev.jsonl --corpora FOLDER

`questions.py` describes annotations. Each repository is pushed into a cluster of three nodes on
this machine, and indexed locally. Both answer all questions with `semantic_search`, without
vectors. NDCG@10 is the mean over repositories; `same` counts the questions for which both have the
same ten places. The ranker was trained on these questions: only the difference says something.

Needs OpenSearch, see install_cluster in scripts/environment.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from questions import RESULTS, Repository, add_arguments, load_repositories, ndcg
from retrieval_runner import copy_corpus, places
from search_cluster import opened, running_cluster  # makes the tests importable, too

from cluster.nodes import Cluster, pushed
from winnow.config import Config
from winnow.tools.semantic_search import SemanticSearchParams, semantic_search
from winnow.types import no_progress

Places = Sequence[Mapping[str, Any]]


async def answers(
    folder: Path, home: Path, config: Config, queries: Sequence[str], repositories: Sequence[str]
) -> list[Places]:
    """Return the first places for each query, in a folder or in repositories of the cluster."""
    found: list[Places] = []
    async with opened(folder, home, config) as workspace:
        if not repositories:
            await workspace.index.build(consent=True)
        for query in queries:
            params = SemanticSearchParams(
                query=query, top_k=RESULTS, repositories=list(repositories)
            )
            result = await semantic_search.run(workspace, params, no_progress)
            shared = result.completeness.shared
            if repositories and not (shared and shared.answered):
                raise RuntimeError(f"the cluster did not answer {query!r}")
            found.append(places(result))
    return found


async def compare(cluster: Cluster, repository: Repository, work: Path) -> tuple[float, float, int]:
    """Push a repository. Return the NDCG of the local index and of the cluster, and the number of
    questions with the same places."""
    folder, empty, home = work / repository.name, work / "empty", work / "home"
    for each in (folder, empty, home):
        each.mkdir(exist_ok=True)
    copy_corpus(repository.folder, folder)
    (folder / ".git").mkdir(exist_ok=True)
    name = f"team/{repository.name}"
    await pushed(cluster, folder, name)
    cluster.request("POST", "/_refresh")
    queries = [question.text for question in repository.questions]
    local = await answers(folder, home, Config(), queries, [])
    shared = await answers(empty, home, Config(cluster=cluster.settings()), queries, [name])
    mean = [
        statistics.mean(
            ndcg(rows, question.targets)
            for rows, question in zip(found, repository.questions, strict=True)
        )
        for found in (local, shared)
    ]
    same = sum(one == other for one, other in zip(local, shared, strict=True))
    return mean[0], mean[1], same


async def compare_all(cluster: Cluster, repositories: Sequence[Repository], work: Path) -> None:
    """Print a line for each repository, and the means."""
    locally, shared = list[float](), list[float]()
    questions = alike = 0
    for repository in repositories:
        one, other, same = await compare(cluster, repository, work)
        locally.append(one)
        shared.append(other)
        count = len(repository.questions)
        questions, alike = questions + count, alike + same
        print(f"{repository.name:20}{one:8.4f}{other:8.4f}{same:6} of {count}", flush=True)
    print(
        f"{'mean':20}{statistics.mean(locally):8.4f}{statistics.mean(shared):8.4f}"
        f"{alike:6} of {questions}"
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser)
    repositories = load_repositories(parser.parse_args())
    with running_cluster() as (cluster, work):
        print(f"{'repository':20}{'local':>8}{'cluster':>8}{'same':>6}", flush=True)
        asyncio.run(compare_all(cluster, repositories, work))


if __name__ == "__main__":
    main()
