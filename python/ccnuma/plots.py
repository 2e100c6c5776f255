"""Drawings with matplotlib in the report's look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence

from . import _optional
from ._errors import BadInput
from .results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The report's colours: those of Okabe and Ito, which the colour-blind tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#56b4e9", "#e69f00")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["Helvetica", "Arial", "DejaVu Sans"],
    "axes.edgecolor": "#54616e",
    "axes.labelcolor": "#16202a",
    "text.color": "#16202a",
    "xtick.color": "#54616e",
    "ytick.color": "#54616e",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e3e8ed",
    "axes.axisbelow": True,
    "legend.frameon": False,
}

#: What a simulated processor's time goes to, as the command's own drawing has it: title, and the keys of `spent_ns` that it sums up.
CAUSES: Sequence[tuple[str, Callable[[str], bool]]] = (
    ("busy", lambda key: key == "busy"),
    ("caches", lambda key: key in ("primary", "secondary", "writeback")),
    ("read, local", lambda key: key.startswith("read.local.")),
    ("read, remote", lambda key: key.startswith("read.") and not key.startswith("read.local.")),
    ("write, local", lambda key: key.startswith("write.local.")),
    ("write, remote", lambda key: key.startswith("write.") and not key.startswith("write.local.")),
    ("translation", lambda key: key == "translation"),
    ("barrier", lambda key: key == "barrier"),
    ("lock", lambda key: key == "lock"),
    ("system, idle", lambda key: key in ("system", "idle", "descheduled")),
)
_CAUSE_COLOURS = ("#16202a", "#8c98a4", "#56b4e9", "#0072b2", "#e69f00", "#d55e00", "#f0e442", "#009e73", "#cc79a7", "#d5dbe1")


def plot(results: Results[Any], kind: Optional[str] = None, *, ax: Optional[Axes] = None, title: Optional[str] = None) -> Axes:
    """Draws results and returns the axes.

    Kinds: ``time`` (where simulated processors' time went, a bar a run) and ``speedup`` for simulations, ``published`` (simulated over
    published) for reproductions, ``latency`` and ``bandwidth`` for measurements, ``findings`` for diagnoses. By default the first that
    fits. Figures that a machine was calibrated on are drawn hollow.
    """
    if not len(results):
        raise BadInput("there is nothing to draw: the results have no record")
    own = _KINDS.get(str(results.rows(origin=True)[0]["record"]), {})
    chosen = kind or next(iter(own), None)
    if chosen not in own:
        raise BadInput(f"kind={kind!r}: no drawing of {results!r}; accepted: {' '.join(own) or 'simulations, reproductions, measurements, findings'}")
    pyplot = _optional.need("matplotlib.pyplot", "plot()")
    # Outside of the context, which would take back what a notebook's backend sets when it is loaded.
    figure = pyplot.figure(figsize=(8, 4.5), layout="constrained") if ax is None else None
    with pyplot.rc_context(STYLE):
        if figure is not None:
            ax = figure.add_subplot()
        assert ax is not None
        own[chosen](results, ax)
        if title:
            ax.set_title(title, loc="left")
    return ax


def _varying(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> list[str]:
    return [name for name in names if len({str(row.get(name)) for row in rows}) > 1]


def _run_columns(rows: Sequence[dict[str, Any]]) -> list[str]:
    keys = sorted({key for row in rows for key in row if key.startswith("parameters.")})
    # Programs differ in what parameters they have: one tells runs apart that has several values for one program.
    values: dict[str, set[tuple[str, str]]] = {key: {(row["program"], str(row[key])) for row in rows if row.get(key) is not None} for key in keys}
    parameters = [key for key in keys if len(values[key]) > len({program for program, _ in values[key]})]
    policies = ["program", "machine", "protocol", "placement", "scheduler", "barrier", "locks", "seed"]
    found = [*_varying(rows, policies), *parameters]
    # A varied parameter of a machine is part of its name; so is a protocol that was asked for.
    return [name for name in found if not (name == "protocol" and "machine" in found)]


def _label(row: dict[str, Any], names: Sequence[str]) -> str:
    words = [f"{name.split('.')[-1]}={row[name]}" if name.startswith("parameters.") else str(row[name]) for name in names if row.get(name) is not None]
    return " ".join(words)


def _time(results: Results[Any], ax: Axes) -> None:
    rows = results.rows()
    names = [*_run_columns(rows), *_varying(rows, ["cpus"])]
    units = {True: " CPU", False: " CPUs"} if "cpus" in names else {True: "", False: ""}
    labels = [_label(row, names) + units[row["cpus"] == 1] or str(row["program"]) for row in rows]
    totals = [sum(value for key, value in row.items() if key.startswith("spent_ns.") and value) or 1.0 for row in rows]
    left = [0.0] * len(rows)
    for (name, belongs), colour in zip(CAUSES, _CAUSE_COLOURS):
        sums = [sum(value or 0 for key, value in row.items() if key.startswith("spent_ns.") and belongs(key[9:])) for row in rows]
        shares = [100 * part / total for part, total in zip(sums, totals)]
        if max(shares) >= 0.05:
            ax.barh(range(len(rows)), shares, left=left, color=colour, label=name, height=0.7)
            left = [before + share for before, share in zip(left, shares)]
    ax.set_yticks(range(len(rows)), labels)
    ax.invert_yaxis()
    ax.set_xlim(0, 100)
    ax.set_xlabel("processor time (%)")
    ax.grid(axis="y", visible=False)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _speedup(results: Results[Any], ax: Axes) -> None:
    rows = results.rows()
    names = _run_columns(rows)
    curves: dict[str, dict[int, float]] = {}
    for row in rows:
        curves.setdefault(_label(row, names) or str(row["program"]), {})[row["cpus"]] = row["time_ns"]
    most = max(max(times) for times in curves.values())
    least = min(min(times) for times in curves.values())
    ax.plot([least, most], [least, most], color="#8c98a4", linestyle=":", label="linear")
    for number, (name, times) in enumerate(curves.items()):
        first = min(times)
        cpus = sorted(times)
        style: dict[str, Any] = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}
        ax.plot(cpus, [first * times[first] / times[count] for count in cpus], label=name, **style)
    ticks = sorted({count for times in curves.values() for count in times})
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_xlabel("processors")
    ax.set_ylabel("speedup")
    ax.legend(loc="upper left")


def _published(results: Results[Any], ax: Axes) -> None:
    rows = [row for row in results.rows() if row.get("theirs") and row.get("ours")]
    if not rows:
        raise BadInput("none of these figures is published in this repository: there is nothing to compare")
    units = sorted({row["unit"] for row in rows})
    values = [float(row[key]) for row in rows for key in ("theirs", "ours") if row[key] > 0]
    ends = [min(values) * 0.9, max(values) * 1.1]
    ax.plot(ends, ends, color="#8c98a4", linestyle=":", label="equal")
    for number, unit in enumerate(units):
        for calibrated in (False, True):
            points = [row for row in rows if row["unit"] == unit and row["calibrated"] == calibrated]
            colour = COLOURS[number % len(COLOURS)]
            style: dict[str, Any] = {"marker": MARKERS[number % len(MARKERS)], "s": 28, "edgecolors": colour}
            style["facecolors"] = "none" if calibrated else colour
            if points:
                label = f"{unit}{', calibrated' if calibrated else ''}"
                ax.scatter([row["theirs"] for row in points], [row["ours"] for row in points], label=label, **style)
    if ends[0] > 0 and ends[1] / ends[0] > 20:
        ax.set_xscale("log")
        ax.set_yscale("log")
    ax.set_xlabel(f"published ({', '.join(units)})")
    ax.set_ylabel(f"simulated ({', '.join(units)})")
    ax.legend(loc="upper left")


def _measured(wanted: Callable[[str], bool], label: str) -> Callable[[Results[Any], Axes], None]:
    def draw(results: Results[Any], ax: Axes) -> None:
        rows = [row for row in results.rows() if wanted(row["unit"]) and row.get("median") is not None]
        if not rows:
            raise BadInput(f"none of these measurements is a {label.lower()}; their units: {' '.join(sorted({row['unit'] for row in results.rows()}))}")
        unit = rows[0]["unit"]
        rows = [row for row in rows if row["unit"] == unit]
        horizontal = _horizontal(rows)
        names = _varying(rows, ["machine", "series", "experiment", "state", "relation", "pages_obtained"])
        curves: dict[str, list[tuple[float, float]]] = {}
        for row in rows:
            at = horizontal[1](row)
            if at is not None:
                curves.setdefault(_label(row, names) or str(row["experiment"]), []).append((at, row["median"]))
        for number, (name, points) in enumerate(curves.items()):
            points.sort()
            joined = horizontal[2] and len(points) > 1
            style: dict[str, Any] = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}
            ax.plot([x for x, _ in points], [y for _, y in points], label=name, linestyle="-" if joined else "", markersize=4, **style)
        if not horizontal[0].endswith("(KiB)"):
            ax.locator_params(axis="x", integer=True)
        else:
            ax.set_xscale("log", base=2)
            ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.set_ylim(bottom=0)
        ax.set_xlabel(horizontal[0])
        ax.set_ylabel(f"{label} ({unit})")
        outside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if len(curves) > 4 else {"loc": "best"}
        ax.legend(fontsize="small", **outside)

    return draw


def _horizontal(rows: Sequence[dict[str, Any]]) -> tuple[str, Callable[[dict[str, Any]], Optional[float]], bool]:
    """What measurements are drawn over: what differs among them, and whether points are joined."""
    if len({row.get("window") for row in rows} - {None}) > 2 or len({row.get("array") for row in rows} - {None}) > 2:
        def size(row: dict[str, Any]) -> Optional[float]:
            found = row.get("window") or row.get("array")
            return found / 1024 if found else None

        return "memory (KiB)", size, True
    if len({len(row.get("remotes") or ()) for row in rows}) > 2:
        return "sharers", lambda row: float(len(row["remotes"])), True
    hops = ("xhops", "yhops", "zhops")
    if any(row.get(name) for row in rows for name in hops):
        return "router hops", lambda row: float(sum(row.get(name) or 0 for name in hops)), False
    order = {id(row): float(number) for number, row in enumerate(rows)}
    return "measurement", lambda row: order[id(row)], False


def _findings(results: Results[Any], ax: Axes) -> None:
    rows = list(reversed(results.rows()))
    labels = [f"{row['class']}" + (f", {row['object']}" if row.get("object") else "") for row in rows]
    for offset, (key, name, colour) in enumerate((("gain_pct", "gain, measured", COLOURS[2]), ("cost_pct", "cost, estimated", COLOURS[1]))):
        values = [row.get(key) or 0 for row in rows]
        ax.barh([place + 0.36 * offset - 0.18 for place in range(len(rows))], values, height=0.34, color=colour, label=name)
    ax.set_yticks(range(len(rows)), labels)
    ax.set_xlabel("share of the run's time (%)")
    ax.grid(axis="y", visible=False)
    handles, names = ax.get_legend_handles_labels()
    ax.legend(handles[::-1], names[::-1], loc="lower right")


_KINDS: dict[str, dict[str, Callable[[Results[Any], Axes], None]]] = {
    "simulation": {"time": _time, "speedup": _speedup},
    "reproduction": {"published": _published},
    "measurement": {
        "latency": _measured(lambda unit: unit in ("ns", "cycles"), "Latency"),
        "bandwidth": _measured(lambda unit: unit in ("MB/s", "MFLOPS"), "Bandwidth"),
    },
    "finding": {"findings": _findings},
}
