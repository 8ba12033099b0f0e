"""Faults injected into fits, a module for each group of them: what is done, how often, and which files must be left.

A group has ``CASES``, each case by its name with what is done in words, and ``trials(case, count)``, which yields a ``Trial`` for
each that was tried: ``LONG`` of them in the suite ``faults``, which writes their table, and a few in the tests.
"""
