// Move features, see the prediction and each group's contribution change. A move of feature j by d adds coef_j * d to its
// group and to the prediction, starting from the figures of a row: exact, whatever features are not on the page.

const MOVERS = 10; // sliders at first; the others on request

function whatIfSection(section) {
  let moved = new Map(); // feature -> its value
  const features = figures.features.slice(0, figures.moved);
  const valueOf = (j) => moved.get(j) ?? rows.x[selection.row][j];
  const answer = make("div", { class: "answer" });
  const movers = make("div", { id: "movers" });

  const everything = rows.parts.flat(); // one axis for all rows: bars can be compared between them
  const lowest = everything.reduce((a, b) => Math.min(a, b), 0), highest = everything.reduce((a, b) => Math.max(a, b), 0);

  function shifts() {
    const byGroup = figures.groups.map(() => 0);
    moved.forEach((value, j) => { byGroup[features[j].group] += features[j].coef * (value - rows.x[selection.row][j]); });
    return byGroup;
  }

  function showAnswer() {
    const start = rows.predicted[selection.row], byGroup = shifts();
    const total = byGroup.reduce((sum, d) => sum + d, 0), base = rows.parts[selection.row];
    const low = Math.min(lowest, ...base.map((part, k) => part + byGroup[k])), high = Math.max(highest, ...base.map((part, k) => part + byGroup[k]));
    const order = figures.groups.map((_, k) => k).sort((a, b) => Math.abs(base[b]) - Math.abs(base[a])).slice(0, FIRST);
    for (const [k, d] of byGroup.entries()) if (d && !order.includes(k)) order.push(k);
    answer.replaceChildren(
      make("div", { class: "now" }, make("label", { for: "prediction" }, "Prediction of ", named(figures.target)),
      make("output", { id: "prediction", "data-value": start + total }, number(start + total, 5)),
      make("p", { class: side(total) }, moved.size ? `${arrow(total)} ${signed(total)} from ${rowName(selection.row)} (${number(start, 5)})` : `as for ${rowName(selection.row)}`)),
      make("div", { class: "parts" }, make("h3", {}, "What each group contributes"),
      make("ul", { class: "bars thin" }, order.map((k) => make("li", { "data-group": figures.groups[k].name, "data-value": base[k] + byGroup[k] },
        barRow(named(figures.groups[k].name), track(base[k] + byGroup[k], low, high, { was: byGroup[k] ? base[k] : null }), signed(base[k] + byGroup[k]), byGroup[k] ? `${signed(byGroup[k])} by the move` : null)))),
      make("p", { class: "note small" }, `and the intercept, ${signed(figures.fit.intercept)}${order.length < figures.fit.n_groups ? ", and the smaller groups" : ""}.`)));
  }

  function mover(j) {
    const { name, low, high, coef } = features[j], start = valueOf(j), id = "feature-" + j;
    const slider = make("input", { type: "range", id, min: Math.min(low, start), max: Math.max(high, start), step: "any", "data-feature": name });
    const box = make("input", { type: "number", step: "any", "aria-label": `Value of ${name}`, "data-feature": name });
    slider.value = start;
    box.value = +start.toPrecision(6);
    const move = (value) => {
      if (!Number.isFinite(value)) return;
      moved.set(j, value);
      slider.setAttribute("aria-valuetext", number(value));
      showAnswer();
    };
    slider.addEventListener("input", () => { box.value = +Number(slider.value).toPrecision(6); move(Number(box.value)); });
    box.addEventListener("input", () => { if (box.value !== "") { slider.value = box.value; move(Number(box.value)); } });
    slider.addEventListener("keydown", (event) => { // "any" has no step: a hundredth of the range
      const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!way) return;
      event.preventDefault();
      slider.value = Number(slider.value) + (way * (slider.max - slider.min)) / 100;
      slider.dispatchEvent(new Event("input"));
    });
    return make("div", { class: "mover" }, make("label", { class: "name", for: id }, named(name), make("small", {}, ` ${signed(coef)} per unit`)), slider, box);
  }

  const which = make("select", { id: "move-group", onchange: () => showMovers() }, make("option", { value: -1 }, "the most influential"),
    figures.groups.map((group, k) => (features.some((feature) => feature.group === k) ? make("option", { value: k }, group.name) : null)));
  function showMovers() {
    const chosen = features.map((_, j) => j).filter((j) => which.value === "-1" || features[j].group === Number(which.value));
    movers.replaceChildren(...chosen.slice(0, MOVERS).map(mover));
    if (chosen.length > MOVERS) {
      const more = make("button", { type: "button", class: "quiet", onclick: () => more.replaceWith(...chosen.slice(MOVERS).map(mover)) }, `Show ${chosen.length - MOVERS} more`);
      movers.append(more);
    }
  }

  const start = make("select", { id: "start-row", onchange: () => select(Number(start.value)) }, rows.number.map((_, row) => make("option", { value: row }, rowName(row))));
  const begin = () => { moved = new Map(); start.value = selection.row; showMovers(); showAnswer(); };
  selection.watchers.push(begin);
  const unlisted = figures.fit.n_columns - figures.moved;
  section.append(
    make("p", { class: "note" }, "Start from a row, move features, and watch the prediction. The model is linear: a move shifts its own group only.",
      unlisted > 0 ? make("b", { class: "sampled" }, ` The ${figures.moved} most influential of ${figures.fit.n_columns.toLocaleString("en")} features can be moved.`) : ""),
    make("div", { class: "controls" }, make("label", {}, "Start from", start), make("label", {}, "Features", which), make("button", { type: "button", id: "reset", onclick: begin }, "Reset")),
    make("div", { class: "pair moving" }, movers, answer));
  begin();
}
