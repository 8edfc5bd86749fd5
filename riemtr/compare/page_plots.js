"use strict";

// Every drawing is a function of the data and of what is selected: (data, chosen) -> {traces, layout}.
// Dashes and symbols say what colours say once more.
const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];
const CATEGORY_COLOURS = {
  certified: "#009E73",
  narrow: "#7FC97F",
  deceived: "#D55E00",
  unconfirmed: "#E69F00",
  stuck: "#8C6D31",
  unfinished: "#8C8C8C",
  "timed out": "#56B4E9",
  failed: "#CC79A7",
};
const CATEGORY_PATTERNS = { narrow: "|", deceived: "x", unconfirmed: "/", stuck: "+", unfinished: "", "timed out": ".", failed: "\\" };

const LIGHT_CATEGORIES = ["narrow", "unconfirmed", "timed out", "failed"];

// Plotly reads a little HTML in texts; names are to be shown as they are.
function literal(text) {
  return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function short(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0 || (Math.abs(value) >= 1e-3 && Math.abs(value) < 1e5)) {
    return String(Number(value.toPrecision(3)));
  }
  return value.toExponential(1).replace("e+", "e").replace(".0e", "e");
}

// The runs that are selected, by their numbers.
function selected(data, chosen) {
  return data.runs.solver
    .map((_, run) => run)
    .filter((run) => chosen.problem === null || data.runs.problem[run] === chosen.problem)
    .filter((run) => chosen.kind === null || data.runs.kind[run] === chosen.kind);
}

function verdictBars(data, chosen) {
  const counts = data.categories.map(() => data.solvers.map(() => 0));
  for (const run of selected(data, chosen)) counts[data.runs.category[run]][data.runs.solver[run]] += 1;
  const totals = data.solvers.map((_, solver) => counts.reduce((sum, row) => sum + row[solver], 0));
  const traces = data.categories.map(({ key, label }, category) => ({
    type: "bar",
    orientation: "h",
    name: literal(label),
    meta: key,
    y: data.solvers.map((_, solver) => solver),
    x: counts[category].map((count, solver) => (totals[solver] ? (100 * count) / totals[solver] : 0)),
    text: counts[category].map((count) => (count ? String(count) : "")),
    textposition: "inside",
    insidetextanchor: "middle",
    insidetextfont: { color: LIGHT_CATEGORIES.includes(key) ? "#000000" : "#ffffff" },
    textangle: 0,
    hovertext: counts[category].map(
      (count, solver) => `${literal(data.solvers[solver])}: ${count} of ${totals[solver]} ${literal(label)}`,
    ),
    hoverinfo: "text",
    marker: {
      color: CATEGORY_COLOURS[key],
      pattern: { shape: CATEGORY_PATTERNS[key] || "", fillmode: "overlay", fgopacity: 0.35, size: 7 },
    },
  }));
  const layout = {
    barmode: "stack",
    height: 120 + 36 * data.solvers.length,
    showlegend: true,
    xaxis: { title: { text: "share of the runs" }, range: [0, 100], dtick: 25, ticksuffix: " %", fixedrange: true },
    yaxis: { ...solverTicks(data), autorange: "reversed", fixedrange: true },
    uniformtext: { minsize: 10, mode: "hide" },
    legend: { itemclick: false, itemdoubleclick: false, traceorder: "normal" },
  };
  return { traces: traces.filter((trace) => trace.x.some((share) => share > 0)), layout };
}

function solverTicks(data) {
  return {
    tickmode: "array",
    tickvals: data.solvers.map((_, solver) => solver),
    ticktext: data.solvers.map(literal),
    // Slanted upwards, the last name ends below its mark; plotly would drop one that sticks out.
    autotickangles: [0, -35, -90],
    ticklabeloverflow: "allow",
    automargin: true,
    zeroline: false,
    showgrid: false,
  };
}

// What a solver needed at every instance (problem, kind of start, start) that is selected: to the
// end of the run where success is a certified minimizer, else until the gradient was small.
function needs(data, chosen) {
  const certifiedOnly = chosen.success === "certified";
  const need = certifiedOnly ? data.whole[chosen.measure] : data.reached[chosen.measure][chosen.tolerance];
  const instances = new Map();
  const values = data.solvers.map(() => []);
  for (const run of selected(data, chosen)) {
    const { solver, problem, kind, start, compared } = data.runs;
    if (!compared[run]) continue;
    const key = `${problem[run]} ${kind[run]} ${start[run]}`;
    if (!instances.has(key)) {
      instances.set(key, instances.size);
      values.forEach((row) => row.push(Infinity));
    }
    const certified = data.categories[data.runs.category[run]].key === "certified";
    if (need[run] !== null && (certified || !certifiedOnly)) {
      values[solver[run]][instances.get(key)] = Math.max(need[run], data.least[chosen.measure]);
    }
  }
  return values;
}

function profileNote(data, chosen) {
  if (chosen.success === "certified") return "Measured to the end of the run, with all that the solver does about the curvature.";
  return `Measured until the gradient norm was at most ${short(data.tolerances[chosen.tolerance])} for good.`;
}

function profileCurves(data, chosen) {
  const profiles = performanceProfiles(needs(data, chosen));
  const furthest = Math.max(2, ...profiles.flatMap(({ x }) => x)) * 1.3;
  const traces = profiles.map(({ x, y }, solver) => ({
    type: "scatter",
    mode: "lines",
    name: literal(data.solvers[solver]),
    uid: `solver ${solver}`,
    // From the left edge at height 0, and on to the right edge at the last height.
    x: [1, ...x, furthest],
    y: [0, ...y, y.length ? y[y.length - 1] : 0].map((share) => 100 * share),
    line: { shape: "hv", color: data.colours[solver], dash: DASHES[solver % DASHES.length], width: 2.5 },
    hovertemplate: "%{y:.0f} % within %{x:.3g} times the best<extra>%{fullData.name}</extra>",
  }));
  const what = chosen.measure === "seconds" ? "seconds" : "oracle calls";
  const layout = {
    height: 430,
    xaxis: { title: { text: `${what}, as a multiple of the best solver's` }, type: "log", range: [-0.015 * Math.log10(furthest), Math.log10(furthest)] },
    yaxis: { title: { text: "share of the starts" }, range: [-2, 103], ticksuffix: " %" },
  };
  return { traces, layout };
}

// Zero has no place on a logarithmic axis: it is drawn a little below the smallest value.
function above(values) {
  const least = values.reduce((low, value) => (value > 0 && value < low ? value : low), Infinity);
  return values.map((value) => (value === null ? null : Math.max(value, least / 2)));
}

function convergenceCurves(data, chosen) {
  const runs = new Set(selected(data, { ...chosen, problem: chosen.curvesProblem }));
  const curves = data.curves.filter(({ run }) => runs.has(run));
  const traces = [];
  data.solvers.forEach((name, solver) => {
    const x = [];
    const y = [];
    const text = [];
    const ends = { x: [], y: [], symbol: [], text: [] };
    for (const curve of curves.filter(({ run }) => data.runs.solver[run] === solver)) {
      const label = describe(data, curve.run);
      x.push(...curve[chosen.x], null);
      y.push(...curve[chosen.y], null);
      text.push(...curve[chosen.x].map(() => label), null);
      ends.x.push(curve[chosen.x].at(-1));
      ends.y.push(curve[chosen.y].at(-1));
      ends.symbol.push(symbolOf(data, curve.run));
      ends.text.push(label);
    }
    if (!x.length) return;
    const shared = { type: "scatter", name: literal(name), legendgroup: `solver ${solver}`, hoverinfo: "text+x+y" };
    const colour = data.colours[solver];
    traces.push({ ...shared, uid: `line ${solver}`, mode: "lines", x, y, text, opacity: 0.75, line: { color: colour, width: 1.6 } });
    const marker = { color: colour, symbol: ends.symbol, size: 8, line: { color: colour, width: 1.5 } };
    traces.push({ ...shared, uid: `end ${solver}`, mode: "markers", x: ends.x, y: ends.y, text: ends.text, marker, showlegend: false });
  });
  for (const axis of ["x", "y"]) {
    const all = above(traces.flatMap((trace) => trace[axis]));
    traces.forEach((trace) => (trace[axis] = all.splice(0, trace[axis].length)));
  }
  const names = { seconds: "seconds", oracles: "oracle calls", gradient_norm: "gradient norm", gap: "cost above the lowest found" };
  const powers = { type: "log", exponentformat: "power", nticks: 9 };
  const layout = {
    height: 480,
    xaxis: { title: { text: names[chosen.x] }, ...powers },
    yaxis: { title: { text: names[chosen.y] }, ...powers },
  };
  return { traces, layout };
}

function symbolOf(data, run) {
  const { key } = data.categories[data.runs.category[run]];
  return { certified: "circle", deceived: "x" }[key] || "circle-open";
}

function describe(data, run) {
  const { solver, problem, kind, start, category } = data.runs;
  const where = `${literal(data.problems[problem[run]])}, ${literal(data.kinds[kind[run]])} start ${start[run]}`;
  return `${literal(data.solvers[solver[run]])}<br>${where}<br>${literal(data.categories[category[run]].label)}`;
}

function runMarks(data, chosen, number) {
  const { label, values } = data.measures[number];
  const runs = selected(data, chosen).filter((run) => values[run] !== null);
  const shown = runs.map((run) => values[run]);
  const logarithmic = shown.every((value) => value >= 0) && shown.some((value) => value > 0);
  const heights = logarithmic ? above(shown) : shown;
  const traces = data.solvers.map((name, solver) => {
    const places = runs.map((run, place) => place).filter((place) => data.runs.solver[runs[place]] === solver);
    const colour = data.colours[solver];
    return {
      type: "scatter",
      mode: "markers",
      name: literal(name),
      uid: `solver ${solver}`,
      showlegend: false,
      // Spread by the golden ratio: even, and the same every time.
      x: places.map((_, i) => solver + 0.5 * (((i + 1) * 0.618034) % 1) - 0.25),
      y: places.map((place) => heights[place]),
      text: places.map((place) => `${describe(data, runs[place])}<br>${literal(label)}: ${short(shown[place])}`),
      hoverinfo: "text",
      marker: {
        color: colour,
        symbol: places.map((place) => symbolOf(data, runs[place])),
        size: runs.length > 1000 ? 5 : 8,
        opacity: 0.8,
        line: { color: colour, width: 1.5 },
      },
    };
  });
  const layout = {
    height: 380,
    xaxis: { ...solverTicks(data), range: [-0.6, data.solvers.length - 0.4] },
    yaxis: { title: { text: literal(label) }, type: logarithmic ? "log" : "linear", exponentformat: "power", nticks: 6 },
  };
  return { traces: traces.filter((trace) => trace.x.length), layout };
}
