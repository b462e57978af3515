"""The search cluster of a team: push repositories into it, and describe it.

See :mod:`winnow.cluster`.
"""
