from hypothesis import given
from hypothesis import strategies as st

from atlas.analysis.differences import word_differences

sentences = st.lists(st.sampled_from(["le", "chat", "dort", "bien", "."]), max_size=8).map(" ".join)


def test_marks_what_the_other_side_lacks():
    left, right = word_differences("le chat dort bien", "le chien dort")
    assert left == [("le", False), ("chat", True), ("dort", False), ("bien", True)]
    assert right == [("le", False), ("chien", True), ("dort", False)]


@given(sentences)
def test_equal_sentences_have_no_mark(sentence):
    for side in word_differences(sentence, sentence):
        assert side == [(word, False) for word in sentence.split()]


@given(sentences, sentences)
def test_unmarked_words_agree_in_order(left, right):
    marked_left, marked_right = word_differences(left, right)
    assert [word for word, _ in marked_left] == left.split()
    assert [word for word, mark in marked_left if not mark] == [
        word for word, mark in marked_right if not mark
    ]
