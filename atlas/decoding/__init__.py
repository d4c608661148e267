"""Search: token ids in, hypotheses and a record of the search out."""

from atlas.decoding.beam import beam_search
from atlas.decoding.bulk import translate_ids
from atlas.decoding.forced import force_target
from atlas.decoding.options import OptionsError, SearchOptions
from atlas.decoding.sampling import sample, sampling_distribution
from atlas.decoding.search import Found, Recording, SearchResult

__all__ = [
    "Found",
    "OptionsError",
    "Recording",
    "SearchOptions",
    "SearchResult",
    "beam_search",
    "force_target",
    "sample",
    "sampling_distribution",
    "translate_ids",
]
