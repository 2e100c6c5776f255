
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("samples").textContent);
  const room = document.getElementById("charts");
  // The colours of the page, dark where the reader prefers that.
  // The palette of Okabe and Ito without its yellow: those who do not see all colours tell them apart. Lines beyond differ in dashes.
  const style = getComputedStyle(document.documentElement);
  const [ink, rule] = ["--ink", "--rule"].map((name) => style.getPropertyValue(name).trim());
  const colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", null, "#56b4e9", "#e69f00"].map((colour) => colour ?? ink);
  const dashes = [[], [10, 5], [3, 3], [16, 4, 3, 4], [1, 5]];
  const most = colours.length * dashes.length;
  // The time is shown in the unit in which the run is neither long nor short.
  const length = data.times_ms.length > 0 ? data.times_ms[data.times_ms.length - 1] : 0;
  const [unit, scale] = length >= 20000 ? ["s", 1e-3] : length >= 2 ? ["ms", 1] : ["us", 1e3];
  const times = data.times_ms.map((time) => time * scale);
  const plots = [];
  let moving = false;

  // All plots show the same time.
  const follow = (from, to) => {
    if (moving) return;
    moving = true;
    for (const plot of plots) plot.setScale("x", { min: from, max: to });
    moving = false;
    document.body.dataset.from = from;
    document.body.dataset.to = to;
  };
  const whole = () => follow(times[0], times[times.length - 1]);

  // Not everything is looked at at the same times. Where a sample is no further from the one before than is usual, a line joins both:
  // what lies between is undefined, and no gap.
  const joined = (values) => {
    const places = values.map((_, index) => index).filter((index) => values[index] != null);
    const distances = places.slice(1).map((place, number) => times[place] - times[places[number]]).sort((a, b) => a - b);
    const usual = distances[Math.floor(0.9 * distances.length)] ?? 0;
    const line = values.slice();
    places.slice(1).forEach((place, number) => {
      if (times[place] - times[places[number]] <= 4 * usual) line.fill(undefined, places[number] + 1, place);
    });
    return line;
  };
  // A sample between two gaps has no line to be part of: it gets a dot, and so do all where there is room.
  const alone = (line) => {
    const seen = line.map((_, index) => index).filter((index) => line[index] !== undefined);
    const has = (number) => line[seen[number]] != null;
    return seen.filter((_, number) => has(number) && !has(number - 1) && !has(number + 1));
  };
  const dots = (line) => {
    const lonely = alone(line);
    if (times.length < 60) return { show: true, size: 5 };
    return { show: false, size: 5, filter: (plot, series) => {
      const [first, last] = plot.series[series].idxs ?? [0, line.length - 1];
      return lonely.filter((index) => index >= first && index <= last);
    } };
  };
  // Of more lines than can be told apart those are shown that reach highest; the others wait in the legend.
  const chosen = (objects) => {
    const peak = (object) => object.values.reduce((most, value) => (value != null && value > most ? value : most), -Infinity);
    const ranked = objects.map((object, index) => ({ index, peak: peak(object) })).sort((a, b) => b.peak - a.peak || a.index - b.index);
    return new Set(ranked.slice(0, most).map(({ index }) => index));
  };

  // Many lines take more height to be told apart.
  const size = (chart) => ({ width: Math.max(320, room.clientWidth), height: chart.objects.length > 8 ? 320 : 210 });
  // An axis is as wide as its labels are.
  const fitting = (plot, values, index, cycle) => {
    const axis = plot.axes[index];
    if (cycle > 1) return axis._size;
    plot.ctx.font = axis.font[0];
    const widths = (values ?? []).map((value) => plot.ctx.measureText(value).width / devicePixelRatio);
    return Math.ceil(axis.ticks.size + axis.gap + Math.max(30, ...widths) + 8);
  };
  // Percentages are of the whole, unless all are so small that the lines would lie on the axis.
  const extent = (chart) => (plot, least, most) => {
    if (least == null || (least >= 0 && most <= 0)) return [0, 1];
    if (chart.steps) return [Math.min(least, 0) - 0.1, Math.max(most, 1) + 0.1];
    if (chart.unit === "%" && least >= 0 && most > 40) return [0, Math.max(100, most)];
    return uPlot.rangeNum(Math.min(least, 0), most, 0.1, true);
  };
  // What stands before a name in the legend: a piece of its line.
  const sample = (line) => {
    const element = (name, attributes) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      return made;
    };
    const picture = element("svg", { class: "sample", width: 30, height: 8 });
    const dashes = line.dash.join(" ");
    picture.append(element("path", { d: "M0 4H30", stroke: line.stroke, "stroke-width": 2, "stroke-dasharray": dashes }));
    return picture;
  };

  const axis = { stroke: ink, grid: { stroke: rule, width: 0.5 }, ticks: { stroke: rule, width: 0.5 } };
  // What is drawn has the colours of the time of drawing.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => location.reload());

  const draw = (chart) => {
    const box = document.createElement("div");
    box.className = "chart";
    const heading = document.createElement("h3");
    heading.textContent = `${chart.kinds}: ${chart.metric}${chart.unit ? ", " + chart.unit : ""} `;
    const meaning = document.createElement("small");
    meaning.textContent = chart.what;
    heading.append(meaning);
    box.append(heading);
    room.append(box);
    chart.shown = chosen(chart.objects);
    const hidden = chart.objects.length - chart.shown.size;
    if (hidden > 0) {
      const note = document.createElement("p");
      note.className = "note";
      note.textContent = `The ${most} with the highest peaks of ${chart.objects.length}; click a name below, or filter, for the others.`;
      box.append(note);
    }
    const places = [...chart.shown].sort((a, b) => a - b);
    const ink = (index) => (places.includes(index) ? places.indexOf(index) : index);
    const values = chart.objects.map((object) => joined(object.values));
    const lines = chart.objects.map((object, index) => ({
      label: object.name,
      show: chart.shown.has(index),
      stroke: colours[ink(index) % colours.length],
      dash: dashes[Math.floor(ink(index) / colours.length) % dashes.length],
      width: 1.4,
      points: { ...dots(values[index]), fill: colours[ink(index) % colours.length] },
      // A number of something is what it is until it is another: there is nothing between two nodes.
      paths: chart.steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
      value: (_, value) => (value == null ? "-" : value.toPrecision(4)),
    }));
    const plot = new uPlot({
      ...size(chart),
      scales: { x: { time: false }, y: { range: extent(chart) } },
      cursor: { sync: { key: "time" }, drag: { x: true, y: false } },
      legend: { markers: { show: false } },
      axes: [
        { label: unit, size: 32, labelSize: 18, labelGap: 0, ...axis },
        { label: chart.unit, size: fitting, labelSize: 24, incrs: chart.steps ? [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] : undefined, ...axis },
      ],
      series: [{ label: unit }, ...lines],
      hooks: { setScale: [(plot, axis) => { if (axis === "x" && plots.includes(plot)) follow(plot.scales.x.min, plot.scales.x.max); }] },
    }, [times, ...values], box);
    box.querySelectorAll(".u-legend .u-series").forEach((row, index) => {
      if (index === 0) return;
      row.title = chart.objects[index - 1].title;
      row.querySelector("th").prepend(sample(lines[index - 1]));
    });
    plots.push(plot);
    return { plot, chart };
  };
  const drawn = data.charts.map(draw);
  if (data.averaged > 1) {
    const note = document.createElement("p");
    note.className = "note";
    note.textContent = `Each point is the mean of ${data.averaged} samples.`;
    room.prepend(note);
  }

  document.getElementById("whole").addEventListener("click", whole);
  document.getElementById("filter").addEventListener("input", (event) => {
    const wanted = event.target.value.split(/[\s,]+/).filter(Boolean);
    for (const { plot, chart } of drawn) {
      chart.objects.forEach((object, index) => {
        const show = wanted.length === 0 ? chart.shown.has(index) : wanted.some((name) => object.name === name || object.title.includes(name));
        if (plot.series[index + 1].show !== show) plot.setSeries(index + 1, { show });
      });
    }
  });
  window.addEventListener("resize", () => {
    for (const { plot, chart } of drawn) plot.setSize(size(chart));
  });
  if (times.length > 0) whole();
})();
