"""The sub-commands of ``atlas``, one module each. Imports wait until they run: help is instant."""
