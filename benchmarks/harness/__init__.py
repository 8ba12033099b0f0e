"""The harness: tasks of a suite, each run in a process of its own, stored as JSON Lines, turned into tables and figures.

task, cases, methods → trees, timing → suites → worker (the child) → runner (the parent) → store → markdown → report
"""
