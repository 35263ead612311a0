"""Keys: the bytes that are hashed, what is told apart, what is refused."""

import hashlib
import pickle
from fractions import Fraction

import numpy as np
import pytest

from simtrack.errors import InputError
from simtrack.rng import SCHEME, Stream, require_distinct, stream_key
from simtrack.rng.keys import canonical_json

# Frozen with scheme simtrack/1: (seed, purpose, labels, named labels) -> key.
GOLDEN = [
    ((7, "outcome"), {}, 0x3A5A4691C4E74855),
    ((0, "cluster effect", "café"), {}, 0xE841A44F2C0342EC),
    (
        (9223372036854775807, "outcome"),
        {"arm": "ablated", "stage": "POST_OBS", "repetition": 19},
        0xA0106546AC485CC7,
    ),
    (
        (7, "Zufall 随机 🎲", None, True, -3),
        {"σ": Fraction(1, 3), "pair": ("a", (1, False))},
        0x455DB85E4DBFDB5A,
    ),
]


def hashed(text):
    """The key of bytes written out by hand: no code of ours between the text and the number."""
    return int.from_bytes(hashlib.blake2b(text.encode("ascii"), digest_size=8).digest(), "little")


@pytest.mark.parametrize(("labels", "named", "key"), GOLDEN)
def test_golden_keys(labels, named, key):
    assert stream_key(*labels, **named) == key


def test_the_scheme_is_named():
    assert SCHEME == "simtrack/1"


def test_the_key_is_the_hash_of_the_stated_bytes():
    by_hand = (
        '["simtrack/1",["i",7],["s","outcome"],["s","caf\\u00e9"],'
        '{"arm":["s","full"],"on":["b",true],"part":["q","-1/3"],"rest":["t",["i",1],["n"]]}]'
    )
    named = {"rest": (1, None), "part": Fraction(-2, 6), "on": True, "arm": "full"}
    assert stream_key(7, "outcome", "café", **named) == hashed(by_hand)
    assert stream_key(7, "outcome") == hashed('["simtrack/1",["i",7],["s","outcome"]]')


def test_the_same_letters_are_the_same_label_however_typed():
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    assert composed != decomposed
    assert stream_key(7, "x", composed) == stream_key(7, "x", decomposed)
    assert stream_key(7, "x", **{composed: 1}) == stream_key(7, "x", **{decomposed: 1})
    with pytest.raises(InputError, match="named by different texts"):
        stream_key(7, "x", **{composed: 1, decomposed: 2})


def test_order_of_named_labels_does_not_matter_and_that_of_others_does():
    assert stream_key(7, "x", a=1, b=2) == stream_key(7, "x", b=2, a=1)
    assert stream_key(7, "x", 1, 2) != stream_key(7, "x", 2, 1)


def test_numpy_integers_and_truths_are_what_they_say():
    assert stream_key(np.int64(7), "x", np.uint8(3)) == stream_key(7, "x", 3)
    assert stream_key(7, "x", np.bool_(True)) == stream_key(7, "x", True)


def test_labels_that_look_alike_are_told_apart():
    labels = [1, True, "1", "true", None, "null", (1,), ("1",), (), "", Fraction(1), "1/1"]
    labels += [((1,), 2), (1, (2,)), (1, 2), 2**70, -1]
    keys = [stream_key(7, "x", label) for label in labels]
    keys += [stream_key(7, "x"), stream_key(7, "y"), stream_key(8, "x"), stream_key(7, "x", a=1)]
    keys += [stream_key(7, "x", 1, 2), stream_key(7, "x", "a", 1)]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("value", [0.8, np.float64(0.8), float("nan"), (1, 0.5)])
def test_floats_are_refused_with_the_cure(value):
    with pytest.raises(InputError, match=r"threshold must be .* Write a decimal as Fraction\("):
        stream_key(7, "x", threshold=value)


@pytest.mark.parametrize("value", [[1], {"a": 1}, b"1", 1j])
def test_other_types_are_refused(value):
    with pytest.raises(InputError, match="label 0 must be text"):
        stream_key(7, "x", value)


@pytest.mark.parametrize("seed", [-1, 2**63, 1.0, True, "7"])
def test_seeds_outside_the_rule_are_refused(seed):
    with pytest.raises(InputError, match="seed must be an integer from 0 to 9223372036854775807"):
        stream_key(seed, "x")


def test_a_purpose_is_needed():
    with pytest.raises(InputError, match="purpose must be a text"):
        stream_key(7, "")


def test_a_text_that_is_no_unicode_still_has_a_key():
    assert canonical_json(7, "x", "\ud800").endswith(b'"\\ud800"]]')


def test_distinct_streams_pass():
    require_distinct(Stream(7, "x", arm=arm, task=t) for arm in ("a", "b") for t in range(50))
    require_distinct([])


def test_a_stream_named_twice_is_refused_by_name():
    streams = [Stream(7, "x", arm="full"), Stream(7, "x", arm="cut"), Stream(7, "x", arm="full")]
    with pytest.raises(InputError, match=r"got Stream\(7, 'x', arm='full'\) twice"):
        require_distinct(streams)


def test_a_clash_of_two_different_streams_names_both():
    one, other = Stream(7, "x", arm="full"), Stream(7, "x", arm="cut")
    object.__setattr__(other, "key", one.key)  # the hash would do this once in 2^64
    with pytest.raises(InputError, match=r"one key for .*arm='full'\) and .*arm='cut'\)"):
        require_distinct([one, other])


def test_a_stream_is_a_value():
    stream = Stream(7, "x", "a", arm="full")
    assert pickle.loads(pickle.dumps(stream)) == stream
    assert stream == Stream(7, "x", "a").labelled(arm="full") != Stream(7, "x", "a")
    assert Stream(7, "x", 1) != Stream(7, "x", True)
    assert len({stream, Stream(7, "x", "a", arm="full")}) == 1
    assert eval(repr(stream)) == stream
    with pytest.raises(AttributeError):
        stream.key = 0


def test_a_label_is_not_given_twice():
    with pytest.raises(InputError, match=r"labels must be new, got arm \(Stream\(7"):
        Stream(7, "x", arm="full").labelled(arm="cut")
