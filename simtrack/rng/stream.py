"""One stream: the draws that belong to a seed, a purpose and a cell's labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError
from simtrack.kernels import draws
from simtrack.rng.counts import invert
from simtrack.rng.keys import Label, canonical_json, stream_key
from simtrack.rng.plan import Clusters, Plan, Replicates, per_cluster, shares, whole
from simtrack.rng.thresholds import beta_binomial_thresholds, binomial_thresholds
from simtrack.validate import integer

__all__ = ["Stream"]

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

_MAX_TRIALS = 2**31  # half of the words are kept for ties
_LOGITS = 1e6
_BETA_RANGE = (1e-6, 1e9)


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Stream:
    """Which random numbers belong to this seed, purpose and cell?

    A draw is a function of (key, cluster, replicate, place) and of nothing else: not of what was
    drawn before, nor of how many replicates, clusters or trials are asked for. Equal labels are
    equal numbers, so give one stream to two arms for common random numbers, and another label to
    whatever should be independent. Two methods of one stream use the same words: one stream is one
    quantity.

    Parameters
    ----------
    seed : int, 0 to 2^63 - 1
    purpose : str
        What the numbers are for.
    *labels, **named : str, int, bool, None, Fraction or tuples of these
        The cell; see `stream_key`.

    Attributes
    ----------
    key : int
        64 bits; `words` are its two halves, as kernels take them.
    labels, named : tuple
        As given.

    Notes
    -----
    All draws take

    * replicates, int or range: how many, from 0, or which ones (a range of step 1);
    * clusters, int or sequence of int: how many, from 0, or which ones, each below 2^32;
    * threads, int: how many share the chunks; the result is the same bytes for any number;
    * chunk, int or None: replicates in a chunk; the result is the same bytes for any size.

    An argument outside its range raises InputError.

    Examples
    --------
    >>> stream = Stream(7, "outcome", arm="full")
    >>> stream.binomial(20, 0.9, replicates=2, clusters=3)
    array([[17, 15, 17],
           [18, 18, 19]])
    >>> stream.binomial(20, 0.9, replicates=range(1, 2), clusters=[2])
    array([[19]])
    """

    seed: int
    purpose: str
    labels: tuple[Label, ...]
    named: tuple[tuple[str, Label], ...]
    key: int

    def __init__(self, seed: int, purpose: str, /, *labels: Label, **named: Label) -> None:
        key = stream_key(seed, purpose, *labels, **named)
        fields = (int(seed), purpose, labels, tuple(named.items()), key)
        for name, value in zip(("seed", "purpose", "labels", "named", "key"), fields, strict=True):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        parts = [repr(self.seed), repr(self.purpose), *map(repr, self.labels)]
        return f"Stream({', '.join(parts + [f'{name}={value!r}' for name, value in self.named])})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._canonical() == other._canonical()

    def __hash__(self) -> int:
        return self.key

    def _canonical(self) -> bytes:
        return canonical_json(self.seed, self.purpose, *self.labels, **dict(self.named))

    @property
    def words(self) -> tuple[np.uint64, np.uint64]:
        """The key as kernels take it: (k0, k1), low 32 bits first, held in uint64."""
        return np.uint64(self.key & 0xFFFFFFFF), np.uint64(self.key >> 32)

    def labelled(self, **named: Label) -> Stream:
        """Return the stream of a cell within this one: the same labels and these.

        Examples
        --------
        >>> Stream(7, "outcome", arm="full").labelled(stage="READY")
        Stream(7, 'outcome', arm='full', stage='READY')
        """
        if twice := sorted(set(named) & set(dict(self.named))):
            raise InputError("labels", "new", ", ".join(twice), where=repr(self))
        return Stream(self.seed, self.purpose, *self.labels, **dict(self.named), **named)

    def uniform(
        self,
        *,
        replicates: Replicates,
        clusters: Clusters,
        draws_each: int = 1,
        threads: int = 1,
        chunk: int | None = None,
    ) -> Floats:
        """Draw doubles inside (0, 1): odd multiples of 2^-53.

        Returns
        -------
        float64 (replicates, clusters, draws_each)
            More draws leave the earlier ones as they were.
        """
        plan = Plan.of(self.words, replicates, clusters, threads, chunk)
        return _numbers(draws.uniform, plan, draws_each)

    def normal(
        self,
        *,
        replicates: Replicates,
        clusters: Clusters,
        draws_each: int = 1,
        threads: int = 1,
        chunk: int | None = None,
    ) -> Floats:
        """Draw standard normal deviates, the same double on every machine; |z| is below 8.3.

        Returns
        -------
        float64 (replicates, clusters, draws_each)
            Draw 0 can be a random intercept, draw 1 a slope.
        """
        plan = Plan.of(self.words, replicates, clusters, threads, chunk)
        return _numbers(draws.normal, plan, draws_each)

    def logit_normal(
        self,
        logit_mean: ArrayLike,
        logit_sd: ArrayLike,
        *,
        replicates: Replicates,
        clusters: Clusters,
        threads: int = 1,
        chunk: int | None = None,
    ) -> Floats:
        """Draw each cluster's share of success: expit(logit_mean + logit_sd Z).

        Parameters
        ----------
        logit_mean, logit_sd : scalar or (clusters,)
            On the logit scale; sd >= 0. The median share is expit(logit_mean); the mean is not.

        Returns
        -------
        float64 (replicates, clusters)
            Z is draw 0 of `normal` of the same stream.
        """
        plan = Plan.of(self.words, replicates, clusters, threads, chunk)
        mean = per_cluster("logit_mean", logit_mean, plan, -_LOGITS, _LOGITS)
        sd = per_cluster("logit_sd", logit_sd, plan, 0.0, _LOGITS)
        out = np.empty(plan.shape)
        plan.fill(draws.logit_normal, out, mean, sd)
        return out

    def bernoulli(
        self,
        p: ArrayLike,
        trials: int,
        *,
        replicates: Replicates,
        clusters: Clusters,
        threads: int = 1,
        chunk: int | None = None,
    ) -> NDArray[np.bool_]:
        """Draw single trials, each a success with share floor(p 2^64) / 2^64.

        Parameters
        ----------
        p : scalar, (clusters,) or (replicates, clusters), 0 to 1
        trials : int
            For each cluster; more trials leave the earlier ones as they were.

        Returns
        -------
        bool (replicates, clusters, trials)
            On one stream, a larger p turns failures into successes and never the other way.
        """
        plan = Plan.of(self.words, replicates, clusters, threads, chunk)
        trials = integer("trials", trials, 0, _MAX_TRIALS)
        out = np.empty((*plan.shape, trials), np.bool_)
        plan.fill(draws.bernoulli, out, rows=shares(p, plan), work=trials // 4 + 1)
        return out

    def trial_counts(
        self,
        n: ArrayLike,
        p: ArrayLike,
        *,
        replicates: Replicates,
        clusters: Clusters,
        threads: int = 1,
        chunk: int | None = None,
    ) -> Ints:
        """Count successes trial by trial: the sums of `bernoulli`, at a cost that grows with n.

        Parameters
        ----------
        n : int or (clusters,)
            Trials; a count over more trials is the old count plus that of the new trials.
        p : scalar, (clusters,) or (replicates, clusters), 0 to 1

        Returns
        -------
        int64 (replicates, clusters)
        """
        plan = Plan.of(self.words, replicates, clusters, threads, chunk)
        trials = whole("n", n, plan.indices.shape, _MAX_TRIALS)
        out = np.empty(plan.shape, np.int64)
        work = int(trials.max(initial=0)) // 4 + 1
        plan.fill(draws.trial_counts, out, trials, rows=shares(p, plan), work=work)
        return out

    def binomial(
        self,
        n: ArrayLike,
        p: ArrayLike,
        *,
        replicates: Replicates,
        clusters: Clusters,
        threads: int = 1,
        chunk: int | None = None,
    ) -> Ints:
        """Draw binomial counts by inversion: one 64-bit number a count, whatever n is.

        Parameters
        ----------
        n : int, (clusters,) or (clusters, cells), 0 to 1,000,000
        p : float of the same shapes, 0 to 1

        Returns
        -------
        int64 (replicates, clusters), or (replicates, clusters, cells) where n or p has cells

        Notes
        -----
        More replicates, clusters or cells leave every old count as it was. On one stream a count
        does not fall when p or n rises (common random numbers, as strongly coupled as can be). But
        a count over more trials is not the old count plus new trials: where that is needed, use
        `trial_counts`, which draws other numbers.
        """
        plan = Plan.of(self.words, replicates, clusters, threads, chunk)
        return invert(plan, binomial_thresholds, n, ("p", p, 0.0, 1.0))

    def beta_binomial(
        self,
        n: ArrayLike,
        a: ArrayLike,
        b: ArrayLike,
        *,
        replicates: Replicates,
        clusters: Clusters,
        threads: int = 1,
        chunk: int | None = None,
    ) -> Ints:
        """Draw counts whose share of success is itself Beta(a, b), new for every count.

        Parameters
        ----------
        n : int, (clusters,) or (clusters, cells), 0 to 1,000,000
        a, b : float of the same shapes, 1e-6 to 1e9
            Mean a / (a + b), intra-cluster correlation 1 / (a + b + 1).

        Returns
        -------
        int64 (replicates, clusters), or (replicates, clusters, cells)
            Cells of one cluster are independent: they do not share the cluster's share. What is
            kept when more is asked for is as for `binomial`.
        """
        plan = Plan.of(self.words, replicates, clusters, threads, chunk)
        a_and_b = ("a", a, *_BETA_RANGE), ("b", b, *_BETA_RANGE)
        return invert(plan, beta_binomial_thresholds, n, *a_and_b)

    def logit_normal_binomial(
        self,
        n: ArrayLike,
        logit_mean: ArrayLike,
        logit_sd: ArrayLike,
        *,
        effects: Stream | None = None,
        replicates: Replicates,
        clusters: Clusters,
        threads: int = 1,
        chunk: int | None = None,
    ) -> Ints:
        """Draw counts of clusters whose logits are normal: a share for the cluster, then n trials.

        Parameters
        ----------
        n, logit_mean, logit_sd : scalar or (clusters,)
        effects : Stream, optional
            The stream of the clusters' deviates. Give the same one to two arms or models that
            share their cluster effects; by default this stream has one of its own. This stream
            itself is refused: effects and trials would then be the same words.

        Returns
        -------
        int64 (replicates, clusters)
            More trials keep the old ones, as for `trial_counts`.
        """
        if effects is not None and effects.key == self.key:
            cure = "Give it a label of its own: stream.labelled(part='effects')."
            rule = "another stream than the one that draws the trials"
            raise InputError("effects", rule, repr(effects), cure=cure)
        own = Stream(
            self.seed, self.purpose, *self.labels, "logit-normal effect", **dict(self.named)
        )
        share = (effects or own).logit_normal(
            logit_mean,
            logit_sd,
            replicates=replicates,
            clusters=clusters,
            threads=threads,
            chunk=chunk,
        )
        return self.trial_counts(
            n, share, replicates=replicates, clusters=clusters, threads=threads, chunk=chunk
        )


def _numbers(draw: Callable[..., None], plan: Plan, draws_each: int) -> Floats:
    out = np.empty((*plan.shape, integer("draws_each", draws_each, 1, _MAX_TRIALS)))
    plan.fill(draw, out, work=draws_each)
    return out
