"""Streams: where each word goes, what stays when more is asked for, what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack import _jit
from simtrack.errors import InputError
from simtrack.kernels import draws
from simtrack.kernels.philox import philox4x32
from simtrack.rng import Stream
from simtrack.rng.thresholds import binomial_thresholds

STREAM = Stream(7, "outcome", arm="full")
TIE_BLOCKS = 1 << 31
TOP = 2**64

sizes = st.integers(1, 6)


def words(stream, replicates, clusters, block):
    """The four words (replicates, clusters, 4) of a block, by NumPy arrays alone."""
    replicate = np.array([[r] for r in replicates], np.uint64)
    index = np.array([clusters], np.uint64)
    low, high = replicate & np.uint64(0xFFFFFFFF), replicate >> np.uint64(32)
    found = philox4x32.py_func(np.uint64(block), index, low, high, *stream.words)
    return np.stack(np.broadcast_arrays(*found), axis=-1)


@pytest.mark.parametrize(
    "replicates",
    [range(3), range(2**32 - 1, 2**32 + 2), range(2**63 - 1, 2**63 + 2), range(TOP - 3, TOP)],
)
def test_numbers_are_the_stated_words(replicates):
    # In Numba uint64 + 1 is int64, or with uint64 a double: replicates past 2^53 would merge.
    clusters = [0, 5, 2**32 - 1]
    found = STREAM.uniform(replicates=replicates, clusters=clusters, draws_each=3)
    first, second = (words(STREAM, replicates, clusters, block) for block in (0, 1))
    for draw, (block, lane) in enumerate([(first, 0), (first, 2), (second, 0)]):
        number = (block[..., lane] << np.uint64(32)) | block[..., lane + 1]
        expected = ((number >> np.uint64(11)) | np.uint64(1)).astype(float) * 2.0**-53
        assert np.array_equal(found[:, :, draw], expected)
    assert np.unique(found).size == found.size


def test_trials_are_the_stated_words():
    replicates, clusters, p = range(40), [0, 3], 0.3
    found = STREAM.bernoulli(p, 7, replicates=replicates, clusters=clusters)
    both = [words(STREAM, replicates, clusters, block) for block in (0, 1)]
    expected = np.concatenate(both, axis=-1)[..., :7] < np.uint64(int(p * 2**32))
    assert np.array_equal(found, expected)  # no tie in 560 words


@pytest.mark.parametrize("trial", [0, 3, 5])
def test_ties_are_decided_by_the_word_kept_for_them(trial):
    # The share is put on each trial's own first word, so that every one of 200 draws is a tie and
    # is a success with chance 1/2. With 32 bits alone all of them would fail, or all succeed.
    replicates, clusters = range(100), [0, 9]
    block, lane = divmod(trial, 4)
    word = words(STREAM, replicates, clusters, block)[..., lane]
    p = (word + 0.5) / 2.0**32
    second = words(STREAM, replicates, clusters, TIE_BLOCKS + block)[..., lane]
    expected = second < np.uint64(1 << 31)
    assert 70 < expected.sum() < 130
    where = {"replicates": replicates, "clusters": clusters}
    trials = STREAM.bernoulli(p, trial + 1, **where)
    assert np.array_equal(trials[..., trial], expected)
    assert np.array_equal(STREAM.trial_counts(trial + 1, p, **where), trials.sum(axis=2))


def test_certain_shares():
    where = {"replicates": 50, "clusters": 3}
    assert STREAM.bernoulli(1.0, 9, **where).all()
    assert not STREAM.bernoulli(0.0, 9, **where).any()
    for draw in (STREAM.trial_counts, STREAM.binomial):
        assert np.all(draw(9, 1.0, **where) == 9)
        assert np.all(draw(9, 0.0, **where) == 0)
        assert np.all(draw(0, 0.5, **where) == 0)


def test_counts_invert_the_law_of_their_own_cell():
    n, p = [[20, 3], [400, 20], [0, 7]], [[0.7, 0.2], [0.5, 0.7], [0.3, 1.0]]
    found = STREAM.binomial(n, p, replicates=500, clusters=3)
    block = words(STREAM, range(500), [0, 1, 2], 0)
    for cluster, cell in np.ndindex(3, 2):
        law = binomial_thresholds(n[cluster][cell], p[cluster][cell])
        high, low = block[:, cluster, 2 * cell], block[:, cluster, 2 * cell + 1]
        number = (high << np.uint64(32)) | low
        expected = law.lowest + np.searchsorted(law.values, number, side="right")
        assert np.array_equal(found[:, cluster, cell], expected)


def test_cells_have_laws_and_numbers_of_their_own():
    n, p = np.array([[3], [40]]), np.array([0.2, 0.9])
    with pytest.raises(InputError, match=r"p must be one number or of the shape \(3,\)"):
        STREAM.binomial(5, p, replicates=4, clusters=3)
    p = np.array([[0.2, 0.9, 0.5], [0.6, 0.1, 0.7]])
    n = np.array([[3, 40, 7], [30, 4, 70]])
    found = STREAM.binomial(n, p, replicates=40, clusters=2)
    assert found.shape == (40, 2, 3)
    assert np.array_equal(
        found[:, 1, 0], STREAM.binomial(30, 0.6, replicates=40, clusters=[1])[:, 0]
    )
    fewer = STREAM.binomial(n[:, :2], p[:, :2], replicates=40, clusters=2)
    assert np.array_equal(found[:, :, :2], fewer)
    one_a_cluster = STREAM.binomial([3, 30], p, replicates=40, clusters=2)
    assert np.array_equal(one_a_cluster[:, :, 0], found[:, :, 0])


def every_draw(replicates, clusters, threads=1, chunk=None):
    where = {"replicates": replicates, "clusters": clusters, "threads": threads, "chunk": chunk}
    return [
        STREAM.uniform(**where)[:, :, 0],
        STREAM.normal(**where)[:, :, 0],
        STREAM.logit_normal(0.5, 1.0, **where),
        STREAM.binomial(20, 0.7, **where),
        STREAM.beta_binomial(20, 2.0, 0.5, **where),
        STREAM.trial_counts(6, 0.7, **where),
        STREAM.logit_normal_binomial(6, 0.5, 1.0, **where),
    ]


ALL = every_draw(12, 8)


@given(start=st.integers(0, 11), clusters=st.lists(st.integers(0, 7), max_size=5), data=st.data())
@settings(max_examples=30, deadline=None)
def test_any_part_is_what_it_was_in_the_whole(start, clusters, data):
    stop = data.draw(st.integers(start, 12))
    threads, chunk = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 13))
    part = every_draw(range(start, stop), clusters, threads, chunk)
    for whole, found in zip(ALL, part, strict=True):
        assert found.tobytes() == whole[start:stop][:, clusters].tobytes()


@given(few=st.integers(0, 11), more=st.integers(0, 11), p=st.floats(0, 1))
@settings(max_examples=30, deadline=None)
def test_more_trials_keep_the_old_ones(few, more, p):
    trials = STREAM.bernoulli(p, few + more, replicates=5, clusters=3)
    assert np.array_equal(trials[..., :few], STREAM.bernoulli(p, few, replicates=5, clusters=3))
    counts = STREAM.trial_counts([few, few + more], p, replicates=5, clusters=2)
    assert np.array_equal(counts[:, 0], trials[:, 0, :few].sum(axis=1))
    assert np.array_equal(counts[:, 1], trials[:, 1].sum(axis=1))


@given(p=st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted), n=st.integers(0, 300))
@settings(max_examples=30, deadline=None)
def test_common_numbers_never_turn_a_success_into_a_failure(p, n):
    where = {"replicates": 20, "clusters": 2}
    low, high = (STREAM.bernoulli(share, 5, **where) for share in p)
    assert np.all(low <= high)
    low, high = (STREAM.binomial(n, share, **where) for share in p)
    assert np.all(low <= high)
    assert np.all(high <= STREAM.binomial(n + 1, p[1], **where))


def test_cluster_effects_can_be_shared():
    where = {"replicates": 300, "clusters": 4}
    effects = Stream(7, "cluster effect", model="m")
    share = effects.logit_normal(0.2, 1.5, **where)
    expected = STREAM.trial_counts(9, share, **where)
    found = STREAM.logit_normal_binomial(9, 0.2, 1.5, effects=effects, **where)
    assert np.array_equal(found, expected)
    assert not np.array_equal(found, STREAM.logit_normal_binomial(9, 0.2, 1.5, **where))


def test_a_stream_cannot_be_its_own_effects():
    # the same words for effect and trials would bias the mean: .708 for .697 in one case
    where = {"replicates": 2, "clusters": 2}
    twin = Stream(STREAM.seed, STREAM.purpose, *STREAM.labels, **dict(STREAM.named))
    for effects in (STREAM, twin):
        with pytest.raises(InputError, match="effects must be another stream than") as caught:
            STREAM.logit_normal_binomial(9, 0.2, 1.5, effects=effects, **where)
        assert "\n" not in str(caught.value)
    labelled = STREAM.labelled(part="effects")
    STREAM.logit_normal_binomial(9, 0.2, 1.5, effects=labelled, **where)


def test_no_spread_between_clusters_is_the_plain_count():
    where = {"replicates": 300, "clusters": 4}
    assert np.array_equal(
        STREAM.logit_normal_binomial(9, 0.0, 0.0, **where), STREAM.trial_counts(9, 0.5, **where)
    )


def test_golden_draws():
    # Frozen with scheme simtrack/1.
    where = {"replicates": range(1, 3), "clusters": [0, 4]}
    assert words(STREAM, range(1, 3), [4], 1).tolist() == [
        [[3627422235, 992422988, 460633480, 2938320221]],
        [[456016079, 2664842799, 600215634, 873458565]],
    ]
    assert [x.hex() for x in STREAM.normal(**where).ravel()] == [
        "-0x1.d15f2f9ddcffdp-4",
        "-0x1.b7777eda5396ep-1",
        "-0x1.e4af82eb6781dp-2",
        "0x1.5d3e19b818982p-1",
    ]
    assert [x.hex() for x in STREAM.logit_normal(1.0, 0.5, **where).ravel()] == [
        "0x1.708247b6c4024p-1",
        "0x1.47252a049ccd5p-1",
        "0x1.5d394dc67f893p-1",
        "0x1.95d805bad5275p-1",
    ]
    assert STREAM.binomial(100_000, 0.3, **where).tolist() == [[29983, 29876], [29931, 30099]]
    assert STREAM.beta_binomial(1000, 0.5, 0.25, **where).tolist() == [[765, 231], [502, 989]]
    assert STREAM.trial_counts(1000, 0.3, **where).tolist() == [[341, 304], [299, 302]]
    assert STREAM.logit_normal_binomial(100, 1.0, 0.5, **where).tolist() == [[76, 72], [83, 65]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"replicates": -1}, "replicates must be an integer >= 0"),
        ({"replicates": 2.0}, "replicates must be an integer"),
        ({"replicates": range(0, 4, 2)}, "replicates must be a count or a range of step 1"),
        ({"replicates": range(TOP, TOP + 1)}, "replicates must be a count or a range"),
        ({"clusters": -1}, "clusters must be an integer from 0 to 4294967296"),
        ({"clusters": [2**32]}, "clusters must be indices from 0 to 2\\^32 - 1"),
        ({"clusters": [-1]}, "clusters must be indices from 0"),
        ({"clusters": [0.5]}, "clusters must be a count or a list of integers"),
        ({"threads": 0}, "threads must be an integer >= 1"),
        ({"chunk": 0}, "chunk must be an integer >= 1"),
        ({"p": 1.5}, "p must be finite numbers from 0 to 1, got 1.5"),
        ({"p": float("nan")}, "p must be finite numbers from 0 to 1, got nan"),
        ({"p": "high"}, "p must be finite numbers from 0 to 1, got 'high'"),
        ({"n": -1}, "n must be integers from 0 to 1000000, got -1"),
        ({"n": 2.0}, "n must be integers"),
        ({"n": True}, "n must be integers"),
        ({"n": 10**7}, "n must be integers from 0 to 1000000, got 10000000"),
        ({"n": [1, 2, 3]}, r"n must be one number or of the shape \(2,\)"),
    ],
)
def test_bad_requests_are_one_clear_line(change, message):
    request = {"n": 5, "p": 0.5, "replicates": 3, "clusters": 2} | change
    with pytest.raises(InputError, match=f"^{message}"):
        STREAM.binomial(**request)


def test_shares_for_each_replicate_must_fit():
    with pytest.raises(InputError, match=r"p must be of the shape \(3, 2\), got \(2, 3\)"):
        STREAM.trial_counts(5, np.full((2, 3), 0.5), replicates=3, clusters=2)
    with pytest.raises(InputError, match="logit_sd must be finite numbers from 0"):
        STREAM.logit_normal(0.0, -1.0, replicates=3, clusters=2)
    with pytest.raises(InputError, match="draws_each must be an integer from 1"):
        STREAM.normal(replicates=3, clusters=2, draws_each=0)
    with pytest.raises(InputError, match="a must be finite numbers from 1e-06"):
        STREAM.beta_binomial(5, 0.0, 1.0, replicates=3, clusters=2)


def test_nothing_asked_for_is_an_empty_array():
    assert STREAM.binomial(5, 0.5, replicates=0, clusters=2).shape == (0, 2)
    assert STREAM.binomial(5, 0.5, replicates=2, clusters=[]).shape == (2, 0)
    assert STREAM.binomial(5, np.empty((2, 0)), replicates=3, clusters=2).shape == (3, 2, 0)
    assert STREAM.bernoulli(0.5, 0, replicates=2, clusters=1).shape == (2, 1, 0)


def test_one_kernel_serves_every_way_of_asking():
    # Another kind of array (read-only, strided) would cost a process another second of compiling.
    frozen = np.array([0.5, 0.7])
    frozen.flags.writeable = False
    for p in (0.5, [0.5, 0.7], frozen, np.array([0.5, 0.0, 0.7])[::2], np.float32(0.5)):
        STREAM.trial_counts(5, p, replicates=3, clusters=[2, 3])
        STREAM.binomial(np.uint8(5), p, replicates=3, clusters=(2, 3))
    for p in (np.full((2, 3), 0.5).T, np.broadcast_to(frozen, (3, 2))):
        STREAM.trial_counts([5, 6], p, replicates=3, clusters=2)
    if _jit.enabled():
        for kernel in (draws.trial_counts, draws.invert):
            assert len(kernel._run.signatures) == 1
