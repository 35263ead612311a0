"""A stopping rule in English: a protocol that a colleague could carry out by hand."""

from __future__ import annotations

from typing import Final

from simtrack.plain import decimal_text
from simtrack.probe.parameters import Rule

__all__ = ["protocol_text"]

#: What to report, and how the estimates are computed: when the rule may stop early, and when not.
STOPPED: Final = (
    """\
Report k, i and j with the call, and the plain estimates i/k, j/k and (i - j)/k. Stopping when
   the data look decided biases them. Give beside them the unbiased ones: among all sequences of
   outcomes that first stop at this record (k, i, j), the share whose first full draw is a pass,
   the share whose first ablated draw is, and the difference of the two. They are right on average
   over many probes, but at some truths lie further from the truth than the plain ones in root
   mean square: report both, and say beforehand which one is the main result.""",
    """; its estimate()
gives both kinds of estimate, as does simtrack.probe.stopped.estimate_after_stop(rule, k, i, j)""",
)
FIXED: Final = (
    """\
Report k, i and j with the call, and the estimates i/k, j/k and (i - j)/k. As the number of
   rounds does not depend on the outcomes, they are unbiased.""",
    "",
)


def protocol_text(rule: Rule) -> str:
    """What exactly does a person do, step by step, who probes one clause under this rule?"""
    t, c, z = (decimal_text(x) for x in (rule.threshold, rule.confidence, rule.zero_band))
    (a0, b0), (c0, d0) = (map(decimal_text, x) for x in (rule.prior, rule.prior_of_ablated))
    k_min, k_max = rule.k_min, rule.k_max
    if k_min == k_max:
        stop = f"Draw {k_max} round{_s(k_max)}, whatever is seen; look once, after the last."
    else:
        stop = (
            f"After each round from round {k_min} on, look. Stop at the first look at which both\n"
            f"   sides are decided; stop after round {k_max} in any case."
        )
    rest = decimal_text(1 - rule.zero_band)
    report, estimate = FIXED if k_min == k_max else STOPPED
    return f"""\
Sequential ablation probe of one clause

1. A round is one pair of replies: one under the full specification, one with the clause's text
   replaced by a neutral placeholder of equal length (ablated). Score each as pass or fail.
2. Count the rounds k, the passes under the full text i, the passes under the ablated text j.
3. The pass rate under the full text, F, is then Beta({_plus(a0, "i")}, {_plus(b0, "k - i")});
   under the ablated text, S, it is Beta({_plus(c0, "j")}, {_plus(d0, "k - j")}).
4. Level (A): high if P(F > {t}) is {c} or more; low if P(F <= {t}) is {c} or more;
   else undecided.
5. Effect (B): positive if P(F - S > {z}) is {c} or more; zero if P(-{z} <= F - S <= {z}) is;
   negative if P(F - S < -{z}) is; else undecided.
   (P(F - S > {z}) is the integral over s from 0 to {rest} of the density of S at s times
   P(F > s + {z}); exchange F and S for P(F - S < -{z}); zero has the rest.)
6. {stop}
7. Call the clause, by what was decided at the stop:
     adopted    level high, effect positive
     redundant  level high, effect zero
     weak       level low, effect positive
     dead       level low, effect zero
     adverse    effect negative, level high or low
   If a side is still undecided, report "not confident": that is a result, not a failure.
8. {report}
At most {2 * k_max} replies a clause.
Computed by simtrack: the session of a StoppingRule (rule.session()) takes the draws, finds the
masses of steps 4 and 5 and says when to stop{estimate}."""


def _plus(start: str, count: str) -> str:
    return f"{start} + {count}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"
