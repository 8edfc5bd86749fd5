"use strict";

// The performance profiles of Dolan and Moré (2002).
// values[solver][instance]: what a solver needed there, Infinity where it did not succeed.
// Returns per solver the steps {x: ratios to the best, y: share of the instances within them}.
function performanceProfiles(values) {
  const instances = values.length ? values[0].length : 0;
  const best = Array.from({ length: instances }, (_, i) => Math.min(...values.map((row) => row[i])));
  return values.map((row) => {
    const ratios = row.map((value, i) => value / best[i]).filter(Number.isFinite);
    ratios.sort((a, b) => a - b);
    const x = [];
    const y = [];
    ratios.forEach((ratio, i) => {
      if (i + 1 === ratios.length || ratios[i + 1] > ratio) {
        x.push(ratio);
        y.push((i + 1) / instances);
      }
    });
    return { x, y };
  });
}
