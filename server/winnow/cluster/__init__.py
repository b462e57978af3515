"""A search cluster for a team: OpenSearch holds the texts of many repositories.

:mod:`winnow.cluster.pushing` writes a commit of a repository, :mod:`winnow.cluster.shared` answers
with candidates: texts that may match, with what the ranker knows of them. Candidates are matched
and ranked on the user's machine, by the same code as local files.
"""
