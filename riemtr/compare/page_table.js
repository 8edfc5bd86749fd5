"use strict";

// The table: one row per problem, kind of start and solver. Texts go in as text, never as HTML.
function tableColumns(data) {
  const share = (number, of = "runs") => ({
    value: (row) => (row[number] !== null && row[of] ? row[number] / row[of] : null),
    text: (row) => (row[number] !== null && row[of] ? `${row[number]}/${row[of]}` : "–"),
  });
  const figure = (name) => ({
    value: (row) => (row.runs ? row[name] : null),
    text: (row) => (row.runs ? short(row[name]) : "–"),
  });
  const word = (list, name) => ({ value: (row) => data[list][row[name]].toLowerCase(), text: (row) => data[list][row[name]] });
  const tightest = short(data.tolerances.at(-1));
  return [
    { key: "solver", label: "solver", ...word("solvers", "solver") },
    { key: "problem", label: "problem", ...word("problems", "problem") },
    { key: "kind", label: "starts", ...word("kinds", "kind") },
    { key: "certified", label: "certified", number: true, best: true, ...share("certified") },
    { key: "deceived", label: "“converged” at a saddle", number: true, ...figure("deceived") },
    { key: "solved", label: "solved", number: true, best: true, ...share("solved") },
    { key: "rounded", label: "exact after rounding", number: true, best: true, ...share("rounded") },
    { key: "seconds", label: "seconds, whole run", number: true, ...figure("seconds") },
    { key: "oracles", label: "oracle calls, whole run", number: true, ...figure("oracles") },
    { key: "toGradient", label: `seconds to gradient ${tightest}`, number: true, ...figure("to_gradient") },
    { key: "otherwise", label: "otherwise", value: (row) => row.otherwise || null, text: (row) => row.otherwise },
  ].filter(({ key, value }) => !data.hidden.includes(key) && data.table.some((row) => value(row) !== null));
}

// A copy in order; what has no value comes last either way.
function sortedRows(rows, value, direction) {
  return [...rows].sort((one, other) => {
    const [a, b] = [value(one), value(other)];
    if (a === null || b === null) return (a === null) - (b === null);
    return direction * (a < b ? -1 : a > b ? 1 : 0);
  });
}

function drawTable(data, chosen) {
  const table = document.getElementById("table");
  const columns = tableColumns(data);
  const sorting = columns.find(({ key }) => key === chosen.sort);
  const rows = data.table
    .filter((row) => chosen.problem === null || row.problem === chosen.problem)
    .filter((row) => chosen.kind === null || row.kind === chosen.kind);
  const shown = sorting ? sortedRows(rows, sorting.value, chosen.direction) : rows;
  const head = document.createElement("tr");
  head.append(...columns.map((column) => heading(column, chosen)));
  table.tHead.replaceChildren(head);
  table.tBodies[0].replaceChildren(
    ...shown.map((row, i) => {
      const line = document.createElement("tr");
      const before = shown[i - 1];
      if (!sorting && before && (before.problem !== row.problem || before.kind !== row.kind)) line.className = "first";
      line.append(...columns.map((column) => cell(data, column, row)));
      return line;
    }),
  );
}

function heading({ key, label, number }, chosen) {
  const head = document.createElement("th");
  head.scope = "col";
  if (number) head.className = "number";
  if (key === chosen.sort) head.ariaSort = chosen.direction > 0 ? "ascending" : "descending";
  const button = document.createElement("button");
  button.type = "button";
  button.dataset.key = key;
  button.textContent = label;
  head.append(button);
  return head;
}

function cell(data, column, row) {
  const place = document.createElement(column.key === "solver" ? "th" : "td");
  if (column.number) place.className = "number";
  if (column.key === "solver") {
    place.scope = "row";
    const swatch = document.createElement("span");
    swatch.className = "swatch";
    swatch.style.background = data.colours[row.solver];
    place.append(swatch);
  }
  place.append(column.text(row));
  const value = column.value(row);
  if (column.best && value !== null) {
    place.classList.add("share");
    place.style.setProperty("--share", `${100 * value}%`);
    if (value === 1) place.classList.add("all");
  }
  if (column.key === "deceived" && value > 0) place.classList.add("deceived");
  return place;
}
