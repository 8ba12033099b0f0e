"""The control: presets beside the authors' code, and steps of the protocol changed one at a time."""

from __future__ import annotations

from dataclasses import fields
from statistics import mean

import pytest
from benchmarks.harness import paper
from benchmarks.harness.store import Store
from benchmarks.suites import control
from hyphc.continuous.paper_presets import PROTOCOLS

# what the presets must reach, mean of 20 seeds, in the units of the paper, to the digits given
LIMITS = {"zoo": "2.8083", "iris": "7.895", "glass": "2.918"}


@pytest.mark.parametrize("case", control.CASES)
def test_a_step_changes_one_option_of_the_released_protocol(case):
    released = PROTOCOLS[f"released-{case}"]
    assert control.protocol_of(control.RELEASED, case) == released
    for name, step in control.STEPS.items():
        if step.change:
            changed = control.protocol_of(name, case)
            differ = [one.name for one in fields(released) if getattr(released, one.name) != getattr(changed, one.name)]
            assert len(differ) == 1, name


def test_steps_describe_what_presets_have():
    for case in control.CASES:
        preset = PROTOCOLS[f"released-{case}"]
        assert str(preset.beta2) == control.STEPS["beta2"].preset == control.STEPS["beta2"].released
        assert str(preset.init_scale) == control.STEPS["init-scale"].preset
        assert preset.counted == 1
        assert control.STEPS["counter"].preset == "1 a step"
    thirds = [PROTOCOLS[f"released-{case}"].settings[0].thirds_per_pair for case in control.CASES]
    assert [round(third, 1) for third in thirds] == [19.8, 4.5, 39.5]


@pytest.mark.parametrize("case", control.CASES)
def test_released_presets_reach_what_is_asked_of_them(case):
    stored = Store().get("control", case, "cosine", control.RELEASED)
    costs = [record["cost"] / 10 ** paper.EXPONENT[case] for record in stored["records"]]
    assert len(costs) == control.SEEDS
    digits = len(LIMITS[case].partition(".")[2])
    assert round(mean(costs), digits) <= float(LIMITS[case])


def test_tables_show_costs_rates_and_changes(tmp_path):
    store = Store(tmp_path)
    for task in control.tasks():
        worse = 1.01 if task.method == "beta2" else 1.0
        seeds = range(control.SEEDS if task.method == control.RELEASED else control.FEWER_SEEDS)
        cost = worse * 10 ** paper.EXPONENT[task.case]
        records = [{"seed": seed, "cost": cost, "triplets": 4_000_000, "cpu_seconds": 1.0} for seed in seeds]
        store.save(task, {"records": records, "status": "ok"})
    table = control.control_table(store)
    assert '| preset "released-…", 20 seeds | 1.0000 (1.0000 – 1.0000) |' in table
    assert '| CPU seconds a million triplets, preset "released-…" | 0.250 | 0.250 | 0.250 |' in table
    assert "| printed in the paper | 2.802 | 7.881 | 2.902 |" in table
    rows = {line.split(" | ")[0]: line for line in control.steps_table(store).splitlines()}
    assert rows["| Adam's β₂"].endswith("| +1.00 % | +1.00 % | +1.00 % |")
    assert rows["| learning rate"].endswith("| +0.00 % | +0.00 % | +0.00 % |")
    assert rows["| decoding"].endswith("| – | – | – | – |")
