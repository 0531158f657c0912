"""The numbers of the three figures of a study, from its CSV alone: what `arena compare --figures` writes.

    python3 docs/analysis.py compare.csv > figures.csv

Needs pandas. A line for each point: figure, panel, series, place on the horizontal axis, mean over the matches, and the
ends of its 95 % interval by Student's t.
"""

import functools
import math
import sys

import numpy
import pandas

# Places of the quantiles among the 22 of a latency.
P50, P95 = 10, 19
NAMES = {
    "p2p": "p2p",
    "relay": "relay (relay half-way)",
    "client-server": "client-server ({} updates/s, server half-way)",
}


@functools.cache
def student(freedom):
    """The 97.5 % point of Student's t, by bisection over the density integrated by Simpson's rule."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        at = numpy.linspace(0, middle, 20001)
        density = scale * (1 + at**2 / freedom) ** (-(freedom + 1) / 2)
        share = middle / 60000 * (density[0] + 4 * density[1::2].sum() + 2 * density[2:-1:2].sum() + density[-1])
        low, high = (middle, high) if share < 0.475 else (low, middle)
    return low


def quantile(rows, column, place):
    lists = rows[column].astype(str).str.split()
    return lists[lists.str.len() == 22].str[place].astype(float)


def line(figure, panel, series, x, values):
    if len(values) > 0:
        value, ends = values.mean(), ["", ""]
        if len(values) > 1:
            half = student(len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
            ends = [f"{value - half:.2f}", f"{value + half:.2f}"]
        LINES.append(",".join([figure, f'"{panel}"', f'"{series}"', x, f"{value:.2f}", *ends]))


def short(number):
    return f"{round(number, 2):g}"


LINES = []
rows = pandas.read_csv(sys.argv[1], comment="#", keep_default_na=False, low_memory=False)
rows = rows[(rows.source == "virtual") & (rows.topology == "midway") & (rows.fixed_delay == 0) & (rows.drift_ppm == 0) & ~rows.repeat_updates]
same = rows[(rows.view == "defaults") & (rows.preset == "") & (rows.bad_link == "") & (rows.players == 2) & (rows.units == 14)]
usual = same[same.prediction & ~same.mixed & (same.jitter_ms == same.rtt_ms.gt(0) * 5.0)]
for (loss, architecture, updates, rtt_ms), cell in usual.groupby(["loss", "architecture", "updates", "rtt_ms"]):
    if updates in (0, 20, 60):
        series = NAMES[architecture].format(updates)
        line("figure-1", f"Confirmed, {short(100 * loss)} % loss", series, short(rtt_ms), quantile(cell, "opponent_confirmed_ms", P50))
base = same[(same.rtt_ms == 100) & (same.jitter_ms == 5) & (same.loss == 0.02)]
views = [("p2p P", "p2p", 0, True, False, 0), ("C/S P", "client-server", 20, True, False, 2)]
views += [(f"{'M' if mixed else 'I'}{delay}", "client-server", 20, mixed, mixed, delay) for mixed in (True, False) for delay in range(3)]
for name, architecture, updates, prediction, mixed, delay in views:
    cell = base[(base.architecture == architecture) & (base.updates == updates) & (base.prediction == prediction)]
    cell = cell[(cell.mixed == mixed) & (cell.interpolation == delay)]
    line("figure-1", "Shown, by view", "opponent's order shown", name, quantile(cell, "opponent_ms", P50))
    line("figure-1", "Shown, by view", "own order shown", name, quantile(cell, "own_predicted_ms", P50))
bad = rows[rows.view == "one-bad-link"]
# A slow upstream is drawn with the shortest of its queues.
bad = bad[bad.upstream_queue_ms == bad.groupby("bad_link").upstream_queue_ms.transform("min")]
for (architecture, updates, players, name), cell in bad.groupby(["architecture", "updates", "players", "bad_link"]):
    series = NAMES[architecture].format(updates)
    if players == 3:
        line("figure-2", "Orders between good links", series, name or "none", quantile(cell, "others_ms", P95))
        line("figure-2", "Freezes on good links", series, name or "none", cell.others_freeze_ms / cell.seconds)
        line("figure-2", "Sent on a good link", series, name or "none", cell.others_kbit_s_up)
    if name == "outages-5":
        line("figure-2", "Own orders, outages-5, by players", series, str(players), quantile(cell, "others_own_ms", P95))
for (architecture, updates), cell in base[base.prediction & ~base.mixed].groupby(["architecture", "updates"]):
    name = "client-server (updates/s beside the points)" if updates else NAMES[architecture]
    x = short((cell.players * cell.kbit_s_up + cell.server_kbit_s_up).mean())
    line("figure-3", "Latency against bytes", name, x, quantile(cell, "opponent_confirmed_ms", P50))
print("figure,panel,series,x,value,low,high")
print("\n".join(sorted(LINES)))
