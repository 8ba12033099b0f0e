"""Faults, a module for each group of them: what is done to a fit, how often, and what must be left.

A group has ``CASES``, each case by its name with what is done in words, and ``trials(case, count)``, which yields a ``Trial`` for each
that was tried: as many as asked for, or as many as the long form has. The suite ``faults`` runs them and writes their table; the
tests run a few of each.
"""
