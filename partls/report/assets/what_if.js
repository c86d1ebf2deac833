// Move features, see the prediction and each group's contribution change. Moving feature j by d adds slope_j * d to its
// group and to the prediction of the row at the start: exact, whatever other features are not on the page.

const MOVERS = 10; // sliders at first; the others on request

function whatIfSection(section) {
  const features = figures.features.slice(0, figures.moved);
  const start = () => rows.x[selection.row];
  let moved = new Map(); // feature -> the value it was moved to

  // One axis for all rows, so that bars can be compared between them.
  const lowest = rows.parts.flat().reduce((a, b) => Math.min(a, b), 0);
  const highest = rows.parts.flat().reduce((a, b) => Math.max(a, b), 0);

  function shifts() {
    const byGroup = figures.groups.map(() => 0);
    moved.forEach((value, j) => {
      byGroup[features[j].group] += features[j].slope * (value - start()[j]);
    });
    return byGroup;
  }

  function contribution(k, shift, now, low, high) {
    const { name } = figures.groups[k];
    const bar = track(now[k], low, high, { was: shift ? now[k] - shift : null });
    const row = barRow(named(name), bar, signed(now[k]), shift ? `${signed(shift)} by the move` : null);
    return make("li", { "data-group": name, "data-value": now[k] }, row);
  }

  function showAnswer() {
    const byGroup = shifts();
    const total = byGroup.reduce((sum, shift) => sum + shift, 0);
    const before = rows.predicted[selection.row];
    const base = rows.parts[selection.row];
    const now = base.map((part, k) => part + byGroup[k]);
    const low = Math.min(lowest, ...now);
    const high = Math.max(highest, ...now);
    const largest = base
      .map((_, k) => k)
      .sort((a, b) => Math.abs(base[b]) - Math.abs(base[a]))
      .slice(0, FIRST);
    const shown = [...new Set([...largest, ...byGroup.keys()])].filter((k) => byGroup[k] || largest.includes(k));
    const change = `${arrow(total)} ${signed(total)} from ${rowName(selection.row)} (${number(before, 5)})`;
    const others = shown.length < figures.fit.n_groups ? ", and smaller groups" : "";
    answer.replaceChildren(
      make(
        "div",
        { class: "now" },
        make("label", { for: "prediction" }, "Prediction of ", named(figures.target)),
        make("output", { id: "prediction", "data-value": before + total }, number(before + total, 5)),
        make("p", { class: side(total) }, moved.size ? change : `as for ${rowName(selection.row)}`),
      ),
      make(
        "div",
        { class: "parts" },
        make("h3", {}, "What each group contributes"),
        make(
          "ul",
          { class: "bars thin" },
          shown.map((k) => contribution(k, byGroup[k], now, low, high)),
        ),
        remark(`and the intercept, ${signed(figures.fit.intercept)}${others}.`),
      ),
    );
  }

  function mover(j) {
    const { name, low, high, slope } = features[j];
    const value = moved.get(j) ?? start()[j];
    const range = { min: Math.min(low, value), max: Math.max(high, value) };
    const slider = make("input", { type: "range", id: "feature-" + j, ...range, step: "any", "data-feature": name });
    const box = make("input", { type: "number", step: "any", "aria-label": `Value of ${name}`, "data-feature": name });
    slider.value = value;
    const decimals = Math.max(0, Math.min(20, 4 - Math.floor(Math.log10(high - low || Math.abs(value) || 1))));
    const rounded = (v) => Number(Number(v).toFixed(decimals)); // a box has no room for more than the slider can tell
    box.value = rounded(value);
    const move = (to) => {
      moved.set(j, to);
      slider.setAttribute("aria-valuetext", number(to));
      showAnswer();
    };
    slider.addEventListener("input", () => {
      box.value = rounded(slider.value);
      move(Number(box.value));
    });
    box.addEventListener("input", () => {
      if (!Number.isFinite(box.valueAsNumber)) return;
      slider.value = box.value;
      move(box.valueAsNumber);
    });
    slider.addEventListener("keydown", (event) => {
      const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
      if (!way) return;
      event.preventDefault();
      slider.value = Number(slider.value) + (way * (slider.max - slider.min)) / 100;
      slider.dispatchEvent(new Event("input"));
    });
    const label = make(
      "label",
      { class: "name", for: "feature-" + j },
      named(name),
      make("small", {}, ` ${signed(slope)} per unit`),
    );
    return make("div", { class: "mover" }, label, slider, box);
  }

  function showMovers() {
    const group = Number(which.value);
    const chosen = [...features.keys()].filter((j) => group < 0 || features[j].group === group);
    movers.replaceChildren(...chosen.slice(0, MOVERS).map(mover));
    if (chosen.length <= MOVERS) return;
    const showRest = () => more.replaceWith(...chosen.slice(MOVERS).map(mover));
    const more = make(
      "button",
      { type: "button", class: "quiet", onclick: showRest },
      `Show ${chosen.length - MOVERS} more`,
    );
    movers.append(more);
  }

  function begin() {
    moved = new Map();
    startRow.value = selection.row;
    showMovers();
    showAnswer();
  }

  const answer = make("div", { class: "answer" });
  const movers = make("div", { id: "movers" });
  const options = rows.number.map((_, row) => make("option", { value: row }, rowName(row)));
  const startRow = make("select", { id: "start-row", onchange: () => select(Number(startRow.value)) }, options);
  const movable = figures.groups
    .map((group, k) => [group.name, k])
    .filter(([, k]) => features.some((f) => f.group === k));
  const choices = [["the most influential", -1], ...movable].map(([name, value]) => make("option", { value }, name));
  const which = make("select", { id: "move-group", onchange: showMovers }, choices);
  const fixed = figures.fit.n_columns > figures.moved;
  if (figures.standardised) section.querySelector(".note").append(" The features are in the units of the data.");
  limited(
    section,
    fixed && ` The ${figures.moved} most influential of ${whole(figures.fit.n_columns)} features can be moved.`,
  );
  section.append(
    make(
      "div",
      { class: "controls" },
      make("label", {}, "Start from", startRow),
      make("label", {}, "Features", which),
      make("button", { type: "button", id: "reset", onclick: begin }, "Reset"),
    ),
    make("div", { class: "pair moving" }, movers, answer),
  );
  selection.watchers.push(begin);
  begin();
}
