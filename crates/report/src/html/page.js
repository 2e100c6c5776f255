
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("samples").textContent);
  const room = document.getElementById("charts");
  const colours = ["#2f6db3", "#d2602f", "#23998b", "#c22f5b", "#9a6fbb", "#e0b447", "#62a8e0", "#5c4008", "#7b8794", "#a80c16"];
  const times = data.times_ms;
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

  const draw = (chart) => {
    const box = document.createElement("div");
    box.className = "chart";
    const heading = document.createElement("h3");
    heading.textContent = `${chart.kind}s: ${chart.metric}${chart.unit ? ", " + chart.unit : ""} `;
    const meaning = document.createElement("small");
    meaning.textContent = chart.what;
    heading.append(meaning);
    box.append(heading);
    room.append(box);
    const lines = chart.objects.map((object, index) => ({
      label: object.name,
      stroke: colours[index % colours.length],
      width: 1.2,
      points: { show: times.length < 60 },
      value: (_, value) => (value == null ? "-" : value.toPrecision(4)),
    }));
    const plot = new uPlot({
      width: Math.max(320, room.clientWidth),
      height: 220,
      scales: { x: { time: false } },
      cursor: { sync: { key: "time" }, drag: { x: true, y: false } },
      axes: [{ label: "ms" }, { size: 70, label: chart.unit }],
      series: [{ label: "ms" }, ...lines],
      hooks: { setScale: [(plot, axis) => { if (axis === "x" && plots.includes(plot)) follow(plot.scales.x.min, plot.scales.x.max); }] },
    }, [times, ...chart.objects.map((object) => object.values)], box);
    box.querySelectorAll(".u-legend .u-series").forEach((row, index) => {
      if (index > 0) row.title = chart.objects[index - 1].title;
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
        const show = wanted.length === 0 || wanted.some((name) => object.name === name || object.title.includes(name));
        if (plot.series[index + 1].show !== show) plot.setSeries(index + 1, { show });
      });
    }
  });
  window.addEventListener("resize", () => {
    for (const plot of plots) plot.setSize({ width: Math.max(320, room.clientWidth), height: 220 });
  });
  if (times.length > 0) whole();
})();
