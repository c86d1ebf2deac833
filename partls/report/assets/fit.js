// Predicted against actual, residuals, and the course of the search.

const { rows } = figures;
const residualOf = (row) => rows.actual[row] - rows.predicted[row];
const rowTip = (row) => `${rowName(row)}\nactual ${number(rows.actual[row], 5)}\npredicted ${number(rows.predicted[row], 5)}\nresidual ${signed(residualOf(row))}`;
const sampled = rows.number.length - 1 < figures.fit.n_rows
  ? `a random sample of ${(rows.number.length - 1).toLocaleString("en")} of the ${figures.fit.n_rows.toLocaleString("en")} rows` : null;

function chart(caption, draw, options, legend) {
  const holder = make("div");
  draw(holder, options);
  return make("figure", {}, make("figcaption", {}, caption), holder, legend ?? null);
}

function fitSection(section) {
  const legend = make("p", { class: "legend" }, make("span", {}, make("b", { class: "up" }, "● "), "above the prediction"), make("span", {}, make("b", { class: "down" }, "● "), "below it"));
  const { counts, edges } = figures.residuals;
  section.append(
    make("p", { class: "note" }, "Point at a row to read it; click it, or press Enter, to start the what-if panel from it. With the keyboard: Tab to a chart, then the arrow keys.",
      sampled ? make("b", { class: "sampled" }, ` The points are ${sampled}; the histogram counts all of them.`) : ""),
    make("div", { class: "triple" },
      chart("Predicted and actual", scatter, {
        xs: rows.predicted, ys: rows.actual, xLabel: "predicted", yLabel: "actual", guide: "diagonal", describe: rowTip,
        label: `Actual against predicted values, R squared ${number(figures.fit.r_squared)}. Arrow keys walk through the rows.`,
      }, legend),
      chart("Residuals by prediction", scatter, {
        xs: rows.predicted, ys: rows.predicted.map((_, row) => residualOf(row)), xLabel: "predicted", yLabel: "residual", guide: "zero", describe: rowTip,
        label: "Residuals against predicted values. Arrow keys walk through the rows.",
      }),
      chart("Distribution of the residuals", columns, {
        counts, edges, xLabel: "residual", yLabel: "rows", label: "Histogram of the residuals. Arrow keys walk through the columns.",
        describe: (i) => `residual ${number(edges[i], 3)} to ${number(edges[i + 1], 3)}\n${count(counts[i], "row")}`,
      })));
}

function searchSection(section) {
  const { states, replayed, counts } = figures.search;
  const { nodes, seconds, objective, lower_bound: bound, gap } = figures.fit;
  section.append(make("p", { class: "note" }, `${count(nodes, "node")} in ${number(seconds, 3)} s; best objective ${number(objective, 8)}, proven lower bound ${number(bound, 8)}, gap ${percent(gap)}.`));
  if (states.length) {
    const options = { states, by: 0, xLabel: "nodes", label: "Best objective and proven lower bound during the search. Arrow keys walk through it." };
    options.describe = (i) => `after ${count(states[i][0], "node")}, ${number(states[i][1], 3)} s\nbest ${number(states[i][2], 7)}\nbound ${states[i][3] === null ? "none yet" : number(states[i][3], 7)}`;
    section.append(chart(replayed ? "The best model found and the proven bound, replayed node by node" : "The best model found and the proven bound", steps, options,
      make("p", { class: "legend" }, make("span", {}, make("b", { class: "down" }, "━ "), "best model found"), make("span", {}, make("b", { class: "up" }, "━ "), "proven lower bound"), make("span", {}, "▒ gap")),
    ), replayed ? make("p", { class: "note small" }, "This search was over within one round, too soon to be recorded. It is told again by a plain search, the lowest bound first, whose nodes can differ.") : "");
  } else section.append(make("p", {}, "Best model and bound met at once, or the course of the search was not recorded: there is none to draw."));
  if (counts.length) section.append(make("h3", {}, "How the nodes were closed"), pairs(counts.map(([name, n]) => [name, n.toLocaleString("en")])));
}

const pairs = (items) => make("dl", { class: "plain" }, items.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, make("bdi", {}, value))]));

function settingsSection(section) {
  section.append(make("div", { class: "pair" },
    make("div", {}, make("h3", {}, "Settings of the fit"), pairs(figures.settings)),
    make("div", {}, make("h3", {}, "Versions"), pairs(figures.versions))));
}
