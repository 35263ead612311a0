"""Panels, laws on panels, and what is handed to ArviZ."""

import math
import sys

import numpy as np
import pytest
from scipy import stats

from simtrack.counts import Totals
from simtrack.errors import InputError, MissingExtra
from simtrack.inference.bayes.beta_binomial import beta_posterior
from simtrack.inference.bayes.hierarchical_beta import hierarchical_beta
from simtrack.inference.bayes.hierarchical_logit import hierarchical_logit
from simtrack.inference.bayes.posterior import describe, law_draws, to_arviz
from simtrack.inference.bayes.posterior_law import BetaLaw, PanelLaw
from simtrack.inference.numerics.panels import ORDER, Panels, legendre_integrals, settled_panels

ROUNDING = 1e-13
#: A Kolmogorov-Smirnov test of a fixed seed is asked for more than one false alarm in a thousand.
RARE = 1e-3


def normal_panels():
    return settled_panels(stats.norm(1.0, 2.0).pdf, np.linspace(-18.0, 20.0, 6))


def test_the_rule_is_that_of_gauss_and_legendre():
    x, w = np.polynomial.legendre.leggauss(ORDER)
    panels = Panels.between([-1.0, 1.0])
    assert panels.nodes[0] == pytest.approx(x, abs=1e-15)
    assert panels.weights[0] == pytest.approx(w, abs=1e-15)
    series = np.polynomial.legendre.legval(0.3, np.ones(ORDER))
    running = legendre_integrals(np.array([0.3])).sum()
    whole = np.polynomial.legendre.Legendre(np.ones(ORDER)).integ(lbnd=-1)(0.3)
    assert running == pytest.approx(whole, abs=ROUNDING)
    assert series == pytest.approx(np.polynomial.legendre.Legendre(np.ones(ORDER))(0.3))


def test_a_normal_law_on_panels():
    law, exact = PanelLaw(*normal_panels()), stats.norm(1.0, 2.0)
    x, p = np.array([-3.0, 0.2, 1.0, 4.0]), np.array([1e-6, 0.025, 0.5, 0.9])
    assert law.cdf(x) == pytest.approx(exact.cdf(x), abs=ROUNDING)
    assert law.density(x) == pytest.approx(exact.pdf(x), abs=ROUNDING)
    assert law.quantile(p) == pytest.approx(exact.ppf(p), abs=1e-9)
    assert (law.mean, law.sd) == pytest.approx((1.0, 2.0), abs=1e-12)
    low, high = describe("x", law, 0.9, "none").hpd()
    assert (low, high) == pytest.approx(exact.ppf([0.05, 0.95]), abs=1e-6)


def test_a_beta_law_on_the_logit_scale_with_mass_at_both_ends():
    def density(w):
        p = stats.logistic.cdf(w)
        return stats.beta.pdf(p, 3, 2) * p * (1 - p)

    panels, values = settled_panels(density, np.linspace(-25.0, 25.0, 6))
    law = PanelLaw(panels, values, "logit", ends=(0.1, 0.2))
    x = np.array([0.0, 0.3, 0.8, 1.0])
    exact = 0.1 + 0.7 * stats.beta.cdf(x, 3, 2)
    exact[-1] = 1.0
    assert law.cdf(x) == pytest.approx(exact, abs=ROUNDING)
    assert law.quantile(np.array([0.05, 0.95])).tolist() == [0.0, 1.0]
    assert law.quantile(np.array([0.1 + 0.7 * 0.5]))[0] == pytest.approx(stats.beta.ppf(0.5, 3, 2))
    assert law.mean == pytest.approx(0.7 * 0.6 + 0.2, abs=ROUNDING)
    second = 0.7 * (stats.beta.var(3, 2) + 0.36) + 0.2
    assert law.sd == pytest.approx(math.sqrt(second - law.mean**2), abs=ROUNDING)


def test_two_modes_are_said():
    both = stats.norm(-4, 1), stats.norm(4, 1)
    panels, values = settled_panels(
        lambda x: 0.5 * (both[0].pdf(x) + both[1].pdf(x)), np.linspace(-14.0, 14.0, 8)
    )
    assert "more than one mode" in describe("x", PanelLaw(panels, values), 0.95, "none").notes[0]
    assert describe("x", PanelLaw(*normal_panels()), 0.95, "none").notes == ()
    assert beta_posterior(0, 9).notes == ()


def test_a_function_that_never_settles_is_refused():
    with pytest.raises(InputError, match="one that does not settle"):
        settled_panels(lambda x: np.sin(1e7 * x) ** 2, [0.0, 1.0])


def test_quantiles_of_several_densities():
    panels = Panels.even(0.0, 1.0, 3)
    heights = np.stack([stats.beta.pdf(panels.nodes, a, 2) for a in (2, 3)])
    found = panels.quantiles(heights, np.array([0.3, 0.9]))
    assert found == pytest.approx([stats.beta.ppf(0.3, 2, 2), stats.beta.ppf(0.9, 3, 2)], abs=1e-12)


def test_draws_follow_the_law_and_stay_when_more_are_asked():
    few, many = (law_draws(BetaLaw(8.0, 4.0), "rate", n, c, 5) for n, c in ((100, 2), (2000, 3)))
    assert (many[:2, :100] == few).all()
    assert stats.kstest(many.ravel(), stats.beta(8, 4).cdf).pvalue > RARE


@pytest.mark.parametrize("model", [hierarchical_beta, hierarchical_logit])
def test_joint_draws_follow_the_marginal_laws(model):
    found = model(Totals.from_arrays([9, 5, 2], [10] * 3))
    draws = found.fit.draw(np.random.default_rng(8).random((4000, 5)))
    spread = draws["icc" if model is hierarchical_beta else "sd"]
    assert stats.kstest(draws["rate"], found.rate.law.cdf).pvalue > RARE
    assert stats.kstest(spread, found.spread.law.cdf).pvalue > RARE
    assert stats.kstest(draws["cluster_rate"][:, 2], found.cluster(2).law.cdf).pvalue > RARE


def test_without_arviz_the_cure_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(MissingExtra, match=r"pip install 'simtrack\[bayes\]'"):
        beta_posterior(8, 10).to_arviz()


def test_the_form_of_version_1(monkeypatch):
    class Newer:
        __version__ = "1.2.0"

        @staticmethod
        def from_dict(groups, **named):
            return groups, named

    monkeypatch.setitem(sys.modules, "arviz", Newer)
    groups, named = to_arviz({"x": np.zeros((2, 3))})
    assert groups["posterior"]["x"].shape == (2, 3)
    assert named == {"dims": {}, "coords": {}}


@pytest.mark.filterwarnings("ignore")
def test_arviz_summarises_and_draws():
    arviz = pytest.importorskip("arviz")
    found = hierarchical_beta(Totals.from_arrays([9, 5, 2], [10] * 3, clusters=["a", "b", "c"]))
    data = found.to_arviz(draws=1500)
    table = arviz.summary(data, round_to="none")
    assert abs(table.loc["rate", "mean"] - found.rate.mean) < 5 * found.rate.sd / math.sqrt(6000)
    assert abs(table.loc["cluster_rate[c]", "mean"] - found.cluster_mean[2]) < 0.01
    assert table["r_hat"].max() < 1.01
    post = beta_posterior(8, 10).to_inference_data()
    assert set(post["posterior"].data_vars) == {"rate"}
    pytest.importorskip("matplotlib").use("Agg")
    if int(arviz.__version__.partition(".")[0]) < 1:
        assert arviz.plot_posterior(post) is not None
        assert arviz.plot_forest(data, var_names=["cluster_rate"]) is not None
    else:
        assert arviz.plot_dist(post) is not None
