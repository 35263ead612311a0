"""Trials that end in one of several leaves of a chain of nodes, whose shares differ by cluster.

Legend of dims: r = replicate, g = cluster, c = cell, m = node, l = leaf, e = cluster effect,
t = trial, s = slot of the table.

Trial t of a cell takes word t of the cell's stream, as `draws.bernoulli` does: it ends in the first
leaf whose cumulative share exceeds the 64-bit number of which the word is the top half; the lower
half, the word 2^33 further on, is drawn on a tie only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import inline, kernel
from simtrack.kernels.philox import MASK, SHIFT, philox4x32, threshold_words
from simtrack.kernels.portable import expit

__all__ = ["leaf_counts", "leaf_trials"]

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TIE_BLOCKS = np.uint64(1 << 31)
_BATCH = 64  # replicates whose words are made at once


@inline
def _words(k0: Any, k1: Any, block: Any, index: Any, replicate: Any) -> Any:
    return philox4x32(
        block & MASK, index & MASK, replicate & MASK, replicate >> SHIFT, k0 & MASK, k1 & MASK
    )


@kernel
def _tie(k0: Any, k1: Any, t: Any, index: Any, replicate: Any) -> Any:
    words = _words(k0, k1, np.uint64(t // 4) + _TIE_BLOCKS, index, replicate)
    return words[t % 4]


@inline
def _node_shares(
    rate: Floats, mean: Floats, spread: Floats, effect_of: Ints, effects: Floats, share: Floats
) -> None:
    """Fill share[m]: the table's rate, or the cluster's own where the node varies.

    spread and effect_of are (m, 2), level and slope; an effect of -1 is none.
    """
    for m in range(rate.shape[0]):
        share[m] = rate[m]
        if effect_of[m, 0] >= 0:
            logit = mean[m] + spread[m, 0] * effects[effect_of[m, 0]]
            if spread[m, 1] > 0.0:
                logit += spread[m, 1] * effects[effect_of[m, 1]]
            share[m] = expit(logit)


@inline
def _thresholds(
    share: Floats, weight: Floats, sign: Ints, leaves: Any, high: Words, low: Words
) -> None:
    """Fill the cumulative shares of all leaves but the last, which takes the rest."""
    total = 0.0
    for leaf in range(leaves - 1):
        part = weight[leaf]
        for m in range(share.shape[0]):
            if sign[leaf, m] == 1:
                part *= share[m]
            elif sign[leaf, m] == 0:
                part *= 1.0 - share[m]
        total += part
        high[leaf], low[leaf] = threshold_words(min(total, 1.0))


@inline
def _leaf_of(
    word: Any, k0: Any, k1: Any, t: Any, index: Any, replicate: Any, leaves: Any, high: Words,
    low: Words,
) -> Any:  # fmt: skip
    for leaf in range(leaves - 1):
        if word < high[leaf]:
            return leaf
        if word == high[leaf] and _tie(k0, k1, t, index, replicate) < low[leaf]:
            return leaf
    return leaves - 1


@inline
def _urn(beta: Floats, seen: Ints, share: Floats, sign: Ints, leaf: Any) -> None:
    """Note which Beta nodes the last trial passed: the next one is drawn given all before it."""
    for m in range(share.shape[0]):
        if beta[m, 0] > 0.0 and sign[leaf, m] >= 0:
            seen[m, 1 - sign[leaf, m]] += 1
            up = beta[m, 0] + np.float64(seen[m, 0])
            share[m] = up / (up + (beta[m, 1] + np.float64(seen[m, 1])))


@kernel
def leaf_trials(
    k0: Words, k1: Words, first: Any, trials: Ints, rate: Floats, mean: Floats, spread: Floats,
    effect_of: Ints, beta: Floats, effects: Floats, weight: Floats, sign: Ints, leaves: Ints,
    out: NDArray[np.int16],
) -> None:  # fmt: skip
    """The leaf of every trial.

    k0, k1, leaves are (c,), trials (g, c), rate and mean (c, m), spread and effect_of (c, m, 2),
    beta (c, m, 2) with zeros where a node is not Beta, effects (r, g, e), weight (c, l),
    sign (c, l, m), out (r, g, c, t).
    """
    nodes = rate.shape[1]
    share, seen = np.empty(nodes, np.float64), np.empty((nodes, 2), np.int64)
    high, low = np.empty(weight.shape[1], np.uint64), np.empty(weight.shape[1], np.uint64)
    for r in range(out.shape[0]):
        replicate = first + np.uint64(r)
        for g in range(out.shape[1]):
            index = np.uint64(g)
            for c in range(out.shape[2]):
                is_urn = beta[c].max() > 0.0
                seen[:] = 0
                _node_shares(rate[c], mean[c], spread[c], effect_of[c], effects[r, g], share)
                _thresholds(share, weight[c], sign[c], leaves[c], high, low)
                for b in range((trials[g, c] + 3) // 4):
                    words = _words(k0[c], k1[c], np.uint64(b), index, replicate)
                    for lane in range(min(4, trials[g, c] - 4 * b)):
                        t = 4 * b + lane
                        leaf = _leaf_of(
                            words[lane], k0[c], k1[c], t, index, replicate, leaves[c], high, low
                        )
                        out[r, g, c, t] = leaf
                        if is_urn:
                            _urn(beta[c], seen, share, sign[c], leaf)
                            _thresholds(share, weight[c], sign[c], leaves[c], high, low)


@inline
def _four(
    k0: Any, k1: Any, block: Any, index: Any, replicate: Any, words: Words, size: Any
) -> None:
    """Fill words (4, i) with one block of `size` consecutive replicates: without a branch."""
    for i in range(size):
        w0, w1, w2, w3 = _words(k0, k1, block, index, replicate + np.uint64(i))
        words[0, i] = w0
        words[1, i] = w1
        words[2, i] = w2
        words[3, i] = w3


@inline
def _below(words: Words, lanes: Any, high: Words, leaves: Any, size: Any, below: Ints) -> Any:
    """Add to below[l, i] the words under each threshold; return how many tie with one."""
    ties = np.int64(0)
    for leaf in range(leaves - 1):
        for lane in range(lanes):
            for i in range(size):
                below[leaf, i] += np.int64(words[lane, i] < high[leaf, i])
                ties += np.int64(words[lane, i] == high[leaf, i])
    return ties


@kernel
def _one_by_one(
    k0: Any, k1: Any, n: Any, index: Any, replicate: Any, leaves: Any, high: Words, low: Words,
    weight: Floats, sign: Ints, share: Floats, beta: Floats, found: Ints,
) -> None:  # fmt: skip
    """Count the leaves of one cell trial by trial: where a word ties, and where a node is Beta."""
    is_urn = beta.max() > 0.0
    seen = np.zeros((share.shape[0], 2), np.int64)
    found[:] = 0
    for t in range(n):
        word = _words(k0, k1, np.uint64(t // 4), index, replicate)[t % 4]
        leaf = _leaf_of(word, k0, k1, t, index, replicate, leaves, high, low)
        found[leaf] += 1
        if is_urn:
            _urn(beta, seen, share, sign, leaf)
            _thresholds(share, weight, sign, leaves, high, low)


@kernel
def leaf_counts(
    k0: Words, k1: Words, first: Any, trials: Ints, rate: Floats, mean: Floats, spread: Floats,
    effect_of: Ints, beta: Floats, effects: Floats, weight: Floats, sign: Ints, leaves: Ints,
    slot: Ints, out: Ints,
) -> None:  # fmt: skip
    """How many trials end in each slot: the sums of `leaf_trials`.

    slot is (c, l), the place of each leaf in out (r, g, s), which starts from zeros.
    """
    most = weight.shape[1]
    share = np.empty(rate.shape[1], np.float64)
    high1, low1, found = (
        np.empty(most, np.uint64),
        np.empty(most, np.uint64),
        np.empty(most, np.int64),
    )
    high, low = np.empty((most, _BATCH), np.uint64), np.empty((most, _BATCH), np.uint64)
    words, below = np.empty((4, _BATCH), np.uint64), np.empty((most, _BATCH), np.int64)
    for c in range(trials.shape[1]):
        is_urn = beta[c].max() > 0.0
        is_same = effect_of[c].max() < 0 and not is_urn
        for i in range(_BATCH if is_same and out.shape[0] > 0 else 0):
            _node_shares(rate[c], mean[c], spread[c], effect_of[c], effects[0, 0], share)
            _thresholds(share, weight[c], sign[c], leaves[c], high[:, i], low[:, i])
        for g in range(out.shape[1]):
            n, index = trials[g, c], np.uint64(g)
            for r0 in range(0, out.shape[0], _BATCH):
                size = min(_BATCH, out.shape[0] - r0)
                replicate = first + np.uint64(r0)
                for i in range(0 if is_same else size):
                    effect = effects[r0 + i, g]
                    _node_shares(rate[c], mean[c], spread[c], effect_of[c], effect, share)
                    _thresholds(share, weight[c], sign[c], leaves[c], high[:, i], low[:, i])
                ties = np.int64(is_urn)
                below[:] = 0
                for b in range(0 if is_urn else (n + 3) // 4):
                    _four(k0[c], k1[c], np.uint64(b), index, replicate, words, size)
                    ties += _below(words, min(4, n - 4 * b), high, leaves[c], size, below)
                for i in range(size):
                    if ties > 0:
                        _node_shares(
                            rate[c], mean[c], spread[c], effect_of[c], effects[r0 + i, g], share
                        )
                        high1[:], low1[:] = high[:, i], low[:, i]
                        _one_by_one(
                            k0[c], k1[c], n, index, replicate + np.uint64(i), leaves[c], high1,
                            low1, weight[c], sign[c], share, beta[c], found,
                        )  # fmt: skip
                        for leaf in range(leaves[c]):
                            out[r0 + i, g, slot[c, leaf]] += found[leaf]
                        continue
                    before = np.int64(0)
                    for leaf in range(leaves[c] - 1):
                        out[r0 + i, g, slot[c, leaf]] += below[leaf, i] - before
                        before = below[leaf, i]
                    out[r0 + i, g, slot[c, leaves[c] - 1]] += n - before
