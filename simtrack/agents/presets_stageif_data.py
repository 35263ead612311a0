"""Published numbers of StageIF that the presets stand on, in percent, by table."""

from __future__ import annotations

__all__ = [
    "BUNDLE",
    "DELTA",
    "FALSE_ALARM",
    "FIVE_ARM",
    "METRICS",
    "THETA",
    "TRANSPORT_LOST",
    "WRONG_VALUE_POINTS",
]

#: stageif/table2_theta.csv: adherence at wait, ready, step, done (NEEDS_INFO, READY, POST_OBS,
#: COMPLETED); baseline arm, both encodings, 478-480 records a cell.
THETA: dict[str, tuple[float, float, float, float]] = {
    "deepseek-v4-flash": (31.5, 18.8, 15.6, 66.2),
    "deepseek-v4-pro": (81.9, 5.8, 14.0, 75.0),
    "glm-5.1": (62.5, 4.2, 6.7, 59.0),
    "gpt-5.5": (57.7, 58.2, 34.5, 54.4),
    "qwen3.5-122b-a10b": (83.5, 0.0, 0.0, 66.2),
    "qwen3.5-35b-a3b": (21.7, 1.2, 2.9, 97.9),
    "qwen3.6-27b": (70.2, 0.8, 4.6, 54.6),
}
#: stageif/table2_delta.csv: stage gap and its 95 % scenario-cluster bootstrap interval, in points;
#: 12 clusters.
DELTA: dict[str, tuple[float, float, float]] = {
    "deepseek-v4-flash": (-44.3, -61.7, -25.5),
    "deepseek-v4-pro": (-41.1, -51.6, -29.9),
    "glm-5.1": (-34.5, -43.3, -25.6),
    "gpt-5.5": (-4.2, -11.5, 2.6),
    "qwen3.5-122b-a10b": (-38.4, -49.4, -27.9),
    "qwen3.5-35b-a3b": (-89.3, -93.8, -83.9),
    "qwen3.6-27b": (-29.4, -38.6, -21.7),
}
#: stageif/table11_metrics.csv: theta_int, theta_term, phi_int, phi_term, emission_int; all arms.
METRICS: dict[str, tuple[float, float, float, float, float]] = {
    "deepseek-v4-flash": (16.7, 64.0, 22.8, 64.0, 27.8),
    "deepseek-v4-pro": (24.1, 65.6, 32.5, 65.6, 34.5),
    "glm-5.1": (17.3, 60.1, 23.6, 60.1, 28.7),
    "gpt-5.5": (43.3, 58.4, 48.0, 58.4, 80.2),
    "qwen3.5-122b-a10b": (28.6, 61.3, 59.5, 61.3, 43.8),
    "qwen3.5-35b-a3b": (8.2, 97.4, 14.3, 97.7, 11.5),
    "qwen3.6-27b": (21.1, 54.6, 49.0, 54.6, 33.2),
}
#: stageif/table13_false_alarm.csv: pre_tool, post_confirmation, mid_chain, post_done.
FALSE_ALARM: dict[str, tuple[float, float, float, float]] = {
    "deepseek-v4-flash": (54.2, 0.0, 0.0, 100.0),
    "deepseek-v4-pro": (86.7, 0.0, 0.0, 100.0),
    "glm-5.1": (98.8, 0.0, 0.0, 90.4),
    "gpt-5.5": (100.0, 0.0, 25.2, 79.9),
    "qwen3.5-122b-a10b": (49.6, 1.2, 0.0, 100.0),
    "qwen3.5-35b-a3b": (0.0, 0.0, 0.0, 100.0),
    "qwen3.6-27b": (41.7, 0.0, 0.0, 100.0),
}
#: stageif/text_claims.csv SI115: wrong values in points of all rows, at POST_OBS, over deployments;
#: below 2 points elsewhere.
WRONG_VALUE_POINTS = 13.6
#: stageif/design.csv, mixed model rows: transport failures of 6,720 planned.
TRANSPORT_LOST = (2, 6720)
#: stageif/five_arm_mix.csv: omission, divergence, malformed, clean at READY and POST_OBS together.
FIVE_ARM: dict[str, tuple[float, float, float, float]] = {
    "baseline": (25.4, 48.1, 10.7, 11.4),
    "reminder": (16.6, 49.7, 14.4, 14.0),
}
#: stageif/text_claims.csv SI261, SI262, SI264, SI265: emission and false completion at POST_OBS.
BUNDLE: dict[str, tuple[float, float]] = {"control": (30.7, 6.2), "bundle": (75.8, 64.4)}
