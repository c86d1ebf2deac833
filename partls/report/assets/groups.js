// The groups: effect and share, the alphas inside, the certainty of the signs, near ties, the price of the constraint.

const FIRST = 30; // bars shown at once; the others on request
const signedGroups = figures.groups.filter((group) => group.sign !== null);
const pushes = { up: "pushes up", down: "pushes down", none: "has no effect" };
const membersOf = (group) => figures.features.filter((feature) => figures.groups[feature.group] === group);

function flipText(flip) {
  const most = flip.exact ? "" : "at most ";
  return flip.increase < 0 ? `a better model has the other sign (${percent(flip.increase)})` : `${most}+${percent(flip.increase)} if flipped`;
}

function groupTip(group) {
  const lines = [group.name, `${percent(group.share)} of the prediction's variance`];
  if (group.sign !== null) lines.splice(1, 0, `β ${signed(group.beta)}: ${pushes[side(group.sign)]}`);
  if (group.sign) lines.push(`objective ${flipText(group.flip)}`);
  return lines.concat(`${count(group.size, "feature")}: click to see`).join("\n");
}

function showMore(list, items, build) {
  list.replaceChildren(...items.slice(0, FIRST).map(build));
  if (items.length <= FIRST) return;
  const more = make("button", { type: "button", class: "quiet", onclick: () => { list.append(...items.slice(FIRST).map(build)); more.parentNode.remove(); } }, `Show ${items.length - FIRST} more`);
  list.append(make("li", {}, more));
}

function alphas(group) {
  const members = membersOf(group).sort((a, b) => Math.abs(b.coef) - Math.abs(a.coef));
  const list = make("ul", { class: "bars thin" });
  const most = Math.max(...members.map((feature) => Math.abs(feature.coef)), 0);
  const row = (feature) => group.sign === null
    ? barRow(named(feature.name), track(feature.coef, -most, most), signed(feature.coef))
    : barRow(named(feature.name), track(feature.alpha, 0, 1, { kind: side(group.sign) }), percent(feature.alpha), `coefficient ${signed(feature.coef)}`);
  showMore(list, members, (feature) => make("li", {}, row(feature)));
  const words = group.sign === null ? "These features belong to no group: each has a coefficient of its own, of either sign."
    : group.sign === 0 ? "The best effect of this group is zero; its shares have no meaning and are shown as equal."
    : `α: how the effect β = ${signed(group.beta)} is shared among the features; the shares sum to 100%.`;
  const rest = group.size - members.length;
  return [make("p", { class: "note small" }, words), list, rest > 0 ? make("p", { class: "note small" }, `${count(rest, "more feature")} with less influence on the prediction ${rest === 1 ? "is" : "are"} not on this page.`) : null];
}

function groupItem(group, measure, low, high) {
  const id = "alphas-" + figures.groups.indexOf(group), value = group[measure] ?? 0;
  const detail = make("div", { class: "detail", id, role: "region", "aria-label": `Features of ${group.name}`, hidden: true });
  const figure = group[measure] === null ? "–" : measure === "beta" ? signed(value) : percent(value);
  const button = make("button", {
    type: "button", class: "row", "aria-expanded": "false", "aria-controls": id,
    "aria-label": `${group.name}: ${group.sign === null ? "no common sign" : `${pushes[side(group.sign)]}, beta ${number(group.beta)}`}, ${percent(group.share)} of the variance. Its ${count(group.size, "feature")}`,
    onclick: () => {
      if (!detail.hasChildNodes()) detail.append(...alphas(group).filter(Boolean));
      detail.hidden = !detail.hidden;
      button.setAttribute("aria-expanded", String(!detail.hidden));
      hideTip();
    },
  }, make("span", { class: "name" }, named(group.name)), track(value, low, high, { kind: side(measure === "beta" ? value : group.sign) }),
  make("span", { class: "figure" }, make("span", { class: side(group.sign) }, group.sign === null ? "" : arrow(group.sign) + " "), figure,
    group.sign ? make("small", {}, flipText(group.flip)) : make("small", {}, group.sign === 0 ? "no effect" : "no common sign")));
  return make("li", {}, withTip(button, () => groupTip(group)), detail);
}

function groupsSection(section) {
  const list = make("ul", { class: "bars", id: "effects", "aria-label": "Groups" });
  const draw = (measure) => {
    const groups = [...figures.groups].sort((a, b) => Math.abs(b[measure] ?? 0) - Math.abs(a[measure] ?? 0));
    const values = groups.map((group) => group[measure] ?? 0);
    const low = Math.min(0, ...values), high = Math.max(0, ...values);
    showMore(list, groups, (group) => groupItem(group, measure, low, high));
  };
  walkable(list, "button.row");
  draw("beta");
  const hidden = figures.fit.n_groups - signedGroups.length;
  section.append(
    make("p", { class: "note" }, "β is the sum of a group's coefficients: its direction and its size in units of the target per unit of the features. The share of variance does not depend on units. ",
      make("b", {}, "Choose a group to see its features.")),
    choice("Length of the bars", [["beta", "Effect β"], ["share", "Share of variance"]], draw), list,
    ...(hidden > 0 ? [make("p", { class: "note small" }, `${count(hidden, "more group")} with smaller shares of the variance not shown.`)] : []));
}

function certaintySection(section) {
  const { within, complete, ties } = figures.certainty;
  const groups = signedGroups.filter((group) => group.sign).sort((a, b) => (a.flip.increase ?? Infinity) - (b.flip.increase ?? Infinity));
  const most = Math.max(...groups.map((group) => group.flip.increase ?? 0), 0);
  const list = make("ul", { class: "bars thin", id: "flips" });
  showMore(list, groups, (group) => {
    const { increase } = group.flip;
    const tag = increase !== null && increase <= within ? make("span", { class: "tag" }, "near tie") : null;
    const then = group.flip.beta ? `then β ${signed(group.flip.beta)}` : "then best left out";
    const row = barRow([named(group.name), tag], track(increase ?? most, 0, most, { kind: side(group.sign) }), `${group.flip.exact ? "" : "≤ "}+${percent(increase)}`, then);
    return make("li", {}, withTip(row, () => `${group.name} ${pushes[side(group.sign)]}.\nForced to the other sign, the best model's objective is ${flipText(group.flip).replace(" if flipped", "")}.`));
  });
  const own = ties.find((tie) => tie.increase <= 0) ?? ties[0];
  const others = ties.filter((tie) => tie !== own);
  const differs = (tie) => signedGroups.filter((_, k) => tie.signs[k] !== own.signs[k]);
  const table = make("table", {}, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Other pattern: what flips"), make("th", { scope: "col" }, "Objective"))),
    make("tbody", {}, others.map((tie) => make("tr", {}, make("td", { class: "wrap" }, differs(tie).flatMap((group, i) => [
      i ? ", " : "", named(group.name), ` ${tie.signs[signedGroups.indexOf(group)] > 0 ? "+" : "−"}${group.sign ? "" : " (zero in the fit)"}`])), make("td", {}, `+${percent(tie.increase)}`)))));
  const head = others.length ? `${count(others.length, "other sign pattern")} within ${percent(within)} of the best objective${complete ? "" : ", and there may be more"}.`
    : complete ? `No other sign pattern comes within ${percent(within)} of the best objective.` : `No other sign pattern within ${percent(within)} was found, but there may be some.`;
  section.append(
    make("p", { class: "note" }, "For each group, the best model in which it has the other sign, or none: how much worse it fits. Each figure is the optimum of its own search, so small ones are real ambiguities of the data."),
    make("div", { class: "pair" },
      make("div", {}, make("h3", {}, "Cost of flipping each sign"), groups.length ? list : make("p", {}, "Every group is zero: there is no sign to flip.")),
      make("div", { id: "ties" }, make("h3", {}, "Near ties"), make("p", {}, head), others.length ? make("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Near ties" }, table) : null)));
}

function priceSection(section) {
  if (!figures.price) {
    section.append(make("p", { class: "note" }, "Left out: the certainty of the signs was not settled in the time allowed, and the price takes as long again. Give the report a longer time limit, and the fit its proof, to see it."));
    return;
  }
  const groups = signedGroups.slice().sort((a, b) => b.gain - a.gain), most = Math.max(...groups.map((group) => group.gain));
  const list = make("ul", { class: "bars thin" });
  showMore(list, groups.filter((group) => group.gain > 0), (group) => {
    const against = group.against.flatMap(([name, coef], i) => [i ? ", " : "pulls against: ", named(name), ` (${signed(coef, 3)})`]);
    const rest = group.n_against - group.against.length;
    return make("li", { class: "priced" }, barRow(named(group.name), track(group.gain, 0, most, { kind: "none" }), `−${percent(group.gain)}`), against.length ? make("p", { class: "note small" }, ...against, rest > 0 ? ` and ${rest} more` : "") : null);
  });
  section.append(
    make("p", { id: "price-words" }, "Requiring one sign per group raises the objective by ", make("b", {}, percent(figures.price.price)), ` over least squares without the constraint (${number(figures.price.unconstrained, 6)}).`),
    most > 0 ? make("p", { class: "note" }, "How much lower the objective gets when one group may mix signs, and which of its features then turn against it: candidates for a group of their own.")
      : make("p", { class: "note" }, "Freeing any single group gains nothing: the groups fit the data as they are."), list);
}
