"""The harness: cases × methods × seeds, each run in a process of its own, stored as JSON, turned into tables and figures.

cases → methods → plans → worker (the child) → runner (the parent) → store → tables, ablation, study, figures → report
"""
