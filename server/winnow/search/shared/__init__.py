"""Searches in the repositories of a team, which a search cluster holds, see :mod:`winnow.cluster`.

:mod:`winnow.search.shared.push` writes them. :mod:`winnow.search.shared.session` asks the cluster
within its time, with consent and audit log, and says what an answer lacks;
:mod:`winnow.search.shared.grep` turns its candidates into rows.
"""
