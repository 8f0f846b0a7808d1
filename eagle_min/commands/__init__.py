"""The commands a person types first, one file each: `demo`, `generate`.

A command is a module with `add_arguments(parser)` and `run(args) -> exit status`; the table
in `__main__.py` names it. Read next: `generate.py`.
"""
