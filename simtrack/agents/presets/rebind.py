"""ReBIND's arms as relapse agents of qwen3-8b: the load grid, the notes, the loops, the ladder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from simtrack.agents.presets.cited import Input, Preset
from simtrack.agents.relapse.agent import RelapseAgent
from simtrack.agents.relapse.retry import Attempts
from simtrack.errors import InputError

__all__ = ["ICC", "REBIND", "REPETITIONS", "TASKS", "TASK_SHARE", "rebind"]

#: rebind/design.csv: tasks; two revoked slices a task, 402 episodes an arm, hence 3 repetitions.
TASKS: Final = 67
REPETITIONS: Final = 3
#: With 3 repetitions, these give the load contrast [+0.300, +0.483] (rebind/contrasts.csv) and the
#: non-relapse prevalence 0.767 [0.697, 0.832] (rebind/text_claims.csv, RB48) their widths over
#: 67 tasks, 3.92 standard errors each; solved together, and tested to give them.
ICC: Final = 0.434
TASK_SHARE: Final = 0.672
#: rebind/text_claims.csv, RB41.
_IN_FORCE = 0.983

_GRID = "rebind/load_grid.csv, qwen3-8b bare delayed"
_ARMS = "rebind/table2_arms.csv"
_WIDTHS: Final = (
    Input("load contrast, interval", "[+0.300, +0.483]", "rebind/contrasts.csv"),
    Input("non-relapse prevalence at revocation, interval", "[0.697, 0.832]",
          "rebind/text_claims.csv, RB48"),
    Input("tasks", "67", "rebind/design.csv"),
    Input("in-force compliance, bare", "0.983", "rebind/text_claims.csv, RB41"),
)  # fmt: skip
_LAW: Final = (
    "3 repetitions a slice: 402 episodes = 67 tasks x 2 slices x 3; the load grid's are unknown",
    "propensities are Beta with one ICC at all loads and in all arms",
    "scripts of different loads are slices of their own; they share what their task adds",
    "no common random numbers over arms: the provider's seeds are best effort",
)


def rebind(name: str) -> Preset:
    """Which relapse agent stands for a block of ReBIND's results?

    `load-grid` (conditions `load` 2, 5, 8 and `arm` bare, compiled), `notes` (arms bare, placebo,
    tombstone, positive, compiled), `restoration` (arms blind, verifier, compiled), `ladder` (arms
    verifier, fixed, adaptive) and `depth` (condition `depth`).

    Examples
    --------
    >>> from simtrack.design import Design
    >>> from simtrack.estimands import estimand
    >>> design = Design(67, 3, {"arm": ("bare",), "condition": ("delayed",), "load": ("2", "8")})
    >>> round(rebind("load-grid").agent.expectation(estimand("load_contrast"), design), 6)
    0.392
    """
    if name not in REBIND:
        raise InputError("name", f"one of {', '.join(REBIND)}", repr(name))
    return REBIND[name]()


def _agent(rate: object, **more: object) -> RelapseAgent:
    return RelapseAgent(rate, ICC, TASK_SHARE, in_force=_IN_FORCE, **more)  # type: ignore[arg-type]


def _load_grid() -> Preset:
    points = {"2": 0.011, "5": 0.238, "8": 0.403}
    rates = [({"arm": "compiled"}, 0.0), *(({"load": m}, p) for m, p in points.items())]
    inputs = tuple(Input(f"relapse, load {m}", f"{p:.3f}", _GRID) for m, p in points.items())
    zero = Input("relapse, compiled", "0/2968", "rebind/zero_counts.csv")
    broken = Input("compiled artifacts that do not parse", "0.067 to 0.106",
                   "rebind/text_claims.csv, RB43, RB44")  # fmt: skip
    agent = _agent(rates, unparseable=[({"arm": "compiled"}, 0.0865), ({}, 0.002)])
    held = "middle of the printed range of compiled artifacts that do not parse"
    return Preset("load-grid", agent, (*inputs, zero, broken, *_WIDTHS), (*_LAW, held))


def _notes() -> Preset:
    points = {"bare": 0.135, "placebo": 0.140, "tombstone": 0.087, "positive": 0.047,
              "compiled": 0.0}  # fmt: skip
    unparseable = [({"arm": "compiled"}, 0.060), ({}, 0.002)]
    agent = _agent([({"arm": arm}, p) for arm, p in points.items()], unparseable=unparseable)
    inputs = tuple(Input(f"relapse, {arm}", f"{p:.3f}", _ARMS) for arm, p in points.items())
    broken = (Input("parse failures, bare", "0.002", _ARMS),
              Input("parse failures, compiled", "0.060", _ARMS))  # fmt: skip
    held = "the three notes parse as often as bare: not printed"
    return Preset("notes", agent, (*inputs, *broken, *_WIDTHS), (*_LAW, held))


def _restoration() -> Preset:
    loops = {
        "blind": Attempts((1.0, 0.0, 1.0), (0.0, 0.0, 0.0)),
        # 0.250 × again² = 0.025: two retries, each reporting the relapse
        "verifier": Attempts((1.0, 1.0, 1.0), (0.0, 0.1**0.5, 0.0)),
    }
    agent = _agent([({"arm": "compiled"}, 0.0), ({}, 0.250)], loops=loops,
                   unparseable=[({"arm": "compiled"}, 0.060), ({}, 0.0)])  # fmt: skip
    inputs = (
        Input("relapse, blind", "0.250", _ARMS),
        Input("relapse, verifier", "0.025", _ARMS),
        Input("relapse, compiled", "0.000", _ARMS),
        Input("parse failures, compiled", "0.060", _ARMS),
        Input("attempts, tokens", "3, 4000", "rebind/probe_parameters.csv"),
    )
    held = "an attempt costs 1000 tokens, so the budget allows the 3 attempts"
    return Preset("restoration", agent, (*inputs, *_WIDTHS), (*_LAW, held))


def _ladder() -> Preset:
    # again: unparseable and missed clauses, solved for the final parse failures and pass rates
    solved = {
        "verifier": (0.562298882034, 0.767726827771),
        "fixed": (0.360643045529, 0.931702707407),
        "adaptive": (0.336856698945, 0.980156564045),
    }
    loops = {a: Attempts((1.0, 1.0, 1.0), (u, 0.0, m)) for a, (u, m) in solved.items()}
    agent = _agent(0.0, loops=loops, unparseable=0.086, miss=1.0 - 0.821 / 0.914)
    printed = {
        "vr": ("0.910", "0.030"),
        "fixed": ("0.900", "0.012"),
        "adaptive": ("0.893", "0.010"),
    }
    inputs = [
        Input(f"{what}, {arm}", value, _ARMS)
        for arm, values in printed.items()
        for what, value in zip(("final pass rate", "final parse failures"), values, strict=True)
    ]
    inputs.append(Input("pass@1", "0.821", "rebind/text_claims.csv, RB40"))
    held = (
        "first attempts pass as often as unconstrained ones, 0.821, and fail to parse in 0.086",
        "relapse is 0 in all three arms, whose form is compiled",
    )
    return Preset("ladder", agent, (*inputs, *_WIDTHS), held)


def _depth() -> Preset:
    prevalence = Input("relapse prevalence at revocation", "0.233", "rebind/text_claims.csv, RB47")
    agent = _agent(0.233, slices=("condition",), unparseable=0.0015)
    broken = Input("unparseable", "3/2010", "rebind/text_claims.csv, RB51")
    held = "status is drawn anew at every depth (persistence 0): nothing printed says how it lasts"
    return Preset("depth", agent, (prevalence, broken, *_WIDTHS), (*_LAW[:2], held))


#: Every block by name.
REBIND: Final[dict[str, Callable[[], Preset]]] = {
    "load-grid": _load_grid,
    "notes": _notes,
    "restoration": _restoration,
    "ladder": _ladder,
    "depth": _depth,
}
