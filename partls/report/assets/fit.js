// Predicted against actual, and what is left: the residuals.

const { rows } = figures;
const residualOf = (row) => rows.actual[row] - rows.predicted[row];
const rowTip = (row) =>
  [
    rowName(row),
    `actual ${number(rows.actual[row], 5)}`,
    `predicted ${number(rows.predicted[row], 5)}`,
    `residual ${signed(residualOf(row))}`,
  ].join("\n");
const rowsShown = rows.number.length - 1;
const sample =
  rowsShown < figures.fit.n_rows && `a random sample of ${whole(rowsShown)} of the ${whole(figures.fit.n_rows)} rows`;

function chart(caption, draw, options, ...below) {
  const holder = make("div");
  draw(holder, options);
  return make("figure", {}, make("figcaption", {}, caption), holder, ...below);
}

function legend(...entries) {
  const items = entries.map(([kind, mark, text]) => make("span", {}, make("b", { class: kind }, mark + " "), text));
  return make("p", { class: "legend" }, items);
}

function fitSection(section) {
  limited(section, sample && ` The points are ${sample}; the histogram counts every row.`);
  const { counts, edges } = figures.residuals;
  const againstActual = {
    xs: rows.predicted,
    ys: rows.actual,
    xLabel: "predicted",
    yLabel: "actual",
    guide: "diagonal",
    describe: rowTip,
    label: `Actual against predicted values, R squared ${number(figures.fit.r_squared)}. Arrow keys walk through them.`,
  };
  const residuals = {
    xs: rows.predicted,
    ys: rows.predicted.map((_, row) => residualOf(row)),
    xLabel: "predicted",
    yLabel: "residual",
    guide: "zero",
    describe: rowTip,
    label: "Residuals against predicted values. Arrow keys walk through them.",
  };
  const distribution = {
    counts,
    edges,
    xLabel: "residual",
    yLabel: "rows",
    describe: (i) => `residual ${number(edges[i], 3)} to ${number(edges[i + 1], 3)}\n${count(counts[i], "row")}`,
    label: "Histogram of the residuals. Arrow keys walk through it.",
  };
  const colours = legend(["up", "●", "above the prediction"], ["down", "●", "below it"]);
  section.append(
    make(
      "div",
      { class: "triple" },
      chart("Predicted and actual", scatter, againstActual, colours),
      chart("Residuals by prediction", scatter, residuals),
      chart("Distribution of the residuals", histogram, distribution),
    ),
  );
}
