"""Attention Atlas: the entry point of the application. Navigation only; every page sets itself up."""

from atlas.ui.navigation import run

run()
