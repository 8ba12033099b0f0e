"""Other people's methods, each a function Similarity → Tree with its own defaults.

Thin doors to maintained packages where there are some; otherwise written here. Where a paper leaves a setting open, the module
says where ours comes from. Every module needs only the package it names.
"""
