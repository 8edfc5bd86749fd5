"use strict";

// Wiring: what is selected, and what to draw again when it changes.
window.addEventListener("error", (event) => {
  const trouble = document.getElementById("trouble");
  trouble.textContent = `Something on this page does not work in this browser: ${event.message}`;
  trouble.hidden = false;
});

(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const element = (id) => document.getElementById(id);
  const chosen = {
    problem: null,
    kind: null,
    measure: "seconds",
    tolerance: data.tolerances.length - 1,
    success: "certified",
    curvesProblem: 0,
    x: "seconds",
    y: "gradient_norm",
    first: 0,
    second: Math.min(data.second, data.measures.length - 1),
    sort: null,
    direction: 1,
  };
  const NOTHING = { text: "nothing to show for this selection", showarrow: false, xref: "paper", yref: "paper", x: 0.5, y: 0.5 };
  // Only these buttons: another of plotly's would upload the plot to its makers' server.
  const CONFIG = {
    responsive: true,
    displaylogo: false,
    showSendToCloud: false,
    plotlyServerURL: "",
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
  };
  const plots = {
    verdicts: () => verdictBars(data, chosen),
    profile: () => {
      element("profile-tolerance").closest("label").hidden = chosen.success === "certified" || data.tolerances.length < 2;
      element("profile-note").textContent = profileNote(data, chosen);
      return profileCurves(data, chosen);
    },
    curves: () => convergenceCurves(data, chosen),
    first: () => runMarks(data, chosen, chosen.first),
    second: () => runMarks(data, chosen, chosen.second),
  };

  function draw(...names) {
    for (const name of names.length ? names : Object.keys(plots)) {
      if (element(name).closest("section").hidden) continue;
      const { traces, layout } = plots[name]();
      if (!traces.length) layout.annotations = [NOTHING];
      Plotly.react(name, traces, themed(layout), CONFIG);
    }
  }

  function themed(layout) {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = { gridcolor: colour("--line"), linecolor: colour("--line"), zerolinecolor: colour("--line"), automargin: true };
    const narrow = window.innerWidth < 640;
    return {
      ...layout,
      xaxis: { ...axis, ...layout.xaxis, ...(narrow && layout.xaxis.type === "log" ? { nticks: 4 } : {}) },
      yaxis: { ...axis, ...layout.yaxis },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: narrow ? 12 : 14, color: colour("--text") },
      hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--text") }, align: "left" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--line"), activecolor: colour("--link") },
      margin: { l: narrow ? 44 : 64, r: 28, t: 28, b: 48 },
      legend: { orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom", itemclick: "toggleothers", itemdoubleclick: "toggle", ...layout.legend },
      uirevision: "keep",
    };
  }

  // Options are pairs of a value and a text; a single one is no choice, and is not shown.
  function fill(id, options, value) {
    const select = element(id);
    select.replaceChildren(...options.map(([key, text]) => new Option(text, key)));
    select.value = value === null ? "" : String(value);
    select.closest("label").hidden = options.length < 2;
  }

  function onChoice(id, name, parse, ...redrawn) {
    element(id).addEventListener("change", (event) => {
      chosen[name] = parse(event.target.value);
      draw(...redrawn);
    });
  }

  const number = (text) => (text === "" ? null : Number(text));
  const numbered = (list) => list.map((text, i) => [i, text]);
  const orAll = (list, all) => (list.length > 1 ? [["", all], ...numbered(list)] : numbered(list));
  fill("problem", orAll(data.problems, "all problems"), data.problems.length > 1 ? null : 0);
  fill("kind", orAll(data.kinds, "all starts"), data.kinds.length > 1 ? null : 0);
  fill("profile-tolerance", data.tolerances.map((tolerance, i) => [i, short(tolerance)]), chosen.tolerance);
  fill("curves-problem", numbered(data.problems), 0);
  const measures = numbered(data.measures.map(({ label }) => label));
  fill("first-measure", measures, chosen.first);
  fill("second-measure", measures, chosen.second);
  element("filters").hidden = data.problems.length < 2 && data.kinds.length < 2;
  element("profile-section").hidden = !data.tolerances.length;
  element("curves-section").hidden = !data.curves.length;
  element("runs-section").hidden = !data.measures.length;
  element("curves-note").textContent = data.curves_note;
  element("table-note").textContent = data.table_note;

  element("problem").addEventListener("change", (event) => {
    chosen.problem = number(event.target.value);
    if (chosen.problem !== null) {
      chosen.curvesProblem = chosen.problem;
      element("curves-problem").value = event.target.value;
    }
    drawTable(data, chosen);
    draw();
  });
  element("kind").addEventListener("change", (event) => {
    chosen.kind = number(event.target.value);
    drawTable(data, chosen);
    draw();
  });
  onChoice("profile-measure", "measure", String, "profile");
  onChoice("profile-tolerance", "tolerance", Number, "profile");
  onChoice("profile-success", "success", String, "profile");
  onChoice("curves-problem", "curvesProblem", Number, "curves");
  onChoice("curves-x", "x", String, "curves");
  onChoice("curves-y", "y", String, "curves");
  onChoice("first-measure", "first", Number, "first");
  onChoice("second-measure", "second", Number, "second");

  element("table").tHead.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const { key } = button.dataset;
    if (chosen.sort !== key) Object.assign(chosen, { sort: key, direction: 1 });
    else if (chosen.direction === 1) chosen.direction = -1;
    else chosen.sort = null;
    drawTable(data, chosen);
    element("table").querySelector(`button[data-key="${key}"]`).focus();
  });

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  function theme(name) {
    document.documentElement.dataset.theme = name;
    draw();
  }
  element("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  dark.addEventListener("change", () => theme(dark.matches ? "dark" : "light"));
  drawTable(data, chosen);
  theme(dark.matches ? "dark" : "light");
})();
