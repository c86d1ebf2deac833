// The groups: effect, share of the variance, and the alphas inside.

const signedGroups = figures.groups.filter((group) => group.sign !== null);
const pushes = { up: "pushes up", down: "pushes down", none: "has no effect" };
const effectOf = (group) => (group.either ? "either sign fits equally well" : pushes[side(group.sign)]);
const kindOf = (group) => (group.either ? "none" : side(group.sign));
const membersOf = (group) => figures.features.filter((feature) => figures.groups[feature.group] === group);

// Nothing is a share of an objective that is zero up to rounding.
const exactText = (increase) => (increase === 0 ? "exact as well" : "not exact");

function flipText(flip) {
  if (!flip) return "sign not tested";
  const most = flip.exact ? "" : "at most ";
  if (figures.proof.exact_fit) return `${exactText(flip.increase)} if flipped`;
  return flip.increase < -1e-9 // only where the fit was not proven
    ? `a better model has the other sign (${percent(flip.increase)})`
    : `${most}+${percent(flip.increase)} if flipped`;
}

const AGAINST =
  "A negative share: this part of the prediction moves against the other parts taken together, so that it makes the " +
  "predictions vary less. All shares sum to 100%.";

const costText = (flip) => (figures.proof.exact_fit ? "" : "objective ") + flipText(flip);

function groupTip(group) {
  const lines = [group.name, `${percent(group.share)} of the prediction's variance`];
  if (group.sign !== null) lines.splice(1, 0, `β ${signed(group.beta)}: ${effectOf(group)}`);
  if (group.sign && group.flip && !group.either) lines.push(costText(group.flip));
  if (group.share < 0) lines.push(AGAINST);
  return lines.concat(`${count(group.size, "feature")}: click to see`).join("\n");
}

function groupLabel(group) {
  const effect = group.sign === null ? "no common sign" : `${effectOf(group)}, beta ${number(group.beta)}`;
  return `${group.name}: ${effect}, ${percent(group.share)} of the variance. Its ${count(group.size, "feature")}`;
}

function alphas(group) {
  const members = membersOf(group).sort((a, b) => Math.abs(b.coef) - Math.abs(a.coef));
  const list = make("ul", { class: "bars thin" });
  const most = Math.max(...members.map((feature) => Math.abs(feature.coef)), 0);
  const share = ({ name, alpha, coef }) =>
    barRow(named(name), track(alpha, 0, 1, { kind: kindOf(group) }), percent(alpha), `coefficient ${signed(coef)}`);
  const free = ({ name, coef }) => barRow(named(name), track(coef, -most, most), signed(coef));
  showMore(list, members, (feature) => make("li", {}, (group.sign === null ? free : share)(feature)));
  const words =
    group.sign === null
      ? "These features belong to no group: each has a coefficient of its own, of either sign."
      : group.sign === 0
        ? "The best effect of this group is zero; its shares have no meaning and are shown as equal."
        : `α: how the effect β = ${signed(group.beta)} is shared among the features; the shares sum to 100%.`;
  const rest = group.size - members.length;
  const missing = `Not on this page: ${count(rest, "feature")} with less influence on the prediction.`;
  const against = group.share < 0 ? [remark(`${percent(group.share)} of the variance. ${AGAINST}`)] : [];
  return [remark(words), ...against, list, ...(rest > 0 ? [remark(missing)] : [])];
}

function groupItem(group, measure, low, high) {
  const id = "alphas-" + figures.groups.indexOf(group);
  const value = group[measure] ?? 0;
  const region = { role: "region", "aria-label": `Features of ${group.name}` };
  const detail = make("div", { class: "detail", id, hidden: true, ...region });
  const beta = group.beta === null ? "–" : signed(group.beta);
  const [figure, other] = measure === "beta" ? [beta, `${percent(group.share)} of variance`] : [percent(value), `β ${beta}`];
  const mark = group.either ? "↕ " : group.sign === null ? "" : arrow(group.sign) + " ";
  const direction = make("span", { class: kindOf(group) }, mark);
  const certainty = group.either
    ? "either sign"
    : group.sign
      ? flipText(group.flip)
      : group.sign === 0
        ? "no effect"
        : "no common sign";
  const toggle = () => {
    if (!detail.hasChildNodes()) detail.append(...alphas(group));
    detail.hidden = !detail.hidden;
    button.setAttribute("aria-expanded", String(!detail.hidden));
    hideTip();
  };
  const about = { "aria-expanded": "false", "aria-controls": id, "aria-label": groupLabel(group) };
  const button = make(
    "button",
    { type: "button", class: "row", ...about, onclick: toggle },
    make(
      "span",
      { class: "name" },
      named(group.name),
      group.share < 0 ? make("span", { class: "tag" }, "against the others") : null,
    ),
    track(value, low, high, { kind: group.either ? "none" : side(measure === "beta" ? value : group.sign) }),
    make("span", { class: "figure" }, direction, figure, make("small", {}, other), make("small", {}, certainty)),
  );
  withTip(button, () => groupTip(group));
  return make("li", {}, button, detail);
}

function groupsSection(section) {
  const list = make("ul", { class: "bars", id: "effects", "aria-label": "Groups" });
  const draw = (measure) => {
    const groups = [...figures.groups].sort((a, b) => Math.abs(b[measure] ?? 0) - Math.abs(a[measure] ?? 0));
    const values = groups.map((group) => group[measure] ?? 0);
    const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
    showMore(list, groups, (group) => groupItem(group, measure, low, high));
  };
  walkable(list, "button.row");
  draw("share");
  const measures = { share: "Share of variance", beta: "Effect β" };
  section.append(choice("Length of the bars", Object.entries(measures), draw), list);
  if (figures.groups.some((group) => group.share < 0)) section.append(remark("“Against the others”: ", AGAINST));
  const rest = figures.fit.n_groups - signedGroups.length;
  if (rest > 0)
    section.append(remark(`Not on this page: ${count(rest, "group")} with smaller shares of the variance.`));
}
