"""Attention Atlas: the entry point of the application. Navigation only; every page sets itself up."""

import pandas  # noqa: F401  Whole before two first visits at once reach it by different ways.

from atlas.ui.navigation import run

run()
