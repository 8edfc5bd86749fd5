"""What only readers of the paper need: its constants, regions, checks, landscapes and figures.

:mod:`riemtr.theory` has the public names.
"""
