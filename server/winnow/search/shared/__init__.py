"""Searches in the repositories of a team, which a search cluster holds, see :mod:`winnow.cluster`.

:mod:`winnow.search.shared.push` writes them. :mod:`winnow.search.shared.session` asks the cluster
within its time, with consent and audit log, and says what an answer lacks.
:mod:`winnow.search.shared.laid_out` writes the candidates to a temporary folder;
:mod:`winnow.search.shared.grep` finds matches in them, and :mod:`winnow.search.shared.ranked` adds
them to the scope of a ranked search.
"""
