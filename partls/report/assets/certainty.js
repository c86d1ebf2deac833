// How sure the signs are: the cost of flipping each, and the patterns that fit almost as well.

const CERTAINTY_LEFT_OUT =
  "Left out: it takes some searches for each group, more than the time allowed. Give the report more time to see it: " +
  "model.report(path, time_limit=300) in Python.";
const byCertainty = signedGroups
  .filter((group) => group.sign && group.flip)
  .sort((a, b) => (a.flip.increase ?? Infinity) - (b.flip.increase ?? Infinity));

function flips() {
  const certain = byCertainty.filter((group) => !group.either);
  const most = Math.max(...certain.map((group) => group.flip.increase ?? 0), 0);
  const list = make("ul", { class: "bars thin", id: "flips" });
  showMore(list, certain, (group) => {
    const { increase, beta, exact } = group.flip;
    const tied = increase !== null && increase <= figures.certainty.within;
    const name = [named(group.name), tied ? make("span", { class: "tag" }, "near tie") : null];
    const bar = track(increase ?? most, 0, most, { kind: kindOf(group) });
    const row = barRow(
      name,
      bar,
      figures.proof.exact_fit ? exactText(increase) : `${exact ? "" : "≤ "}+${percent(increase)}`,
      figures.proof.exact_fit ? null : beta ? `then β ${signed(beta)}` : "then best left out",
    );
    withTip(row, () => `${group.name}: ${effectOf(group)}\n${costText(group.flip)}`);
    return make("li", {}, row);
  });
  const n = byCertainty.length - certain.length;
  const rest = n ? [remark(`Not listed: ${count(n, "group")} that ${n === 1 ? "fits" : "fit"} equally well with either sign.`)] : [];
  return byCertainty.length ? [list, ...rest] : [make("p", {}, "Every group is zero: there is no sign to flip.")];
}

function tieTable(own, others) {
  const flipped = (tie) =>
    signedGroups.flatMap((group, k) => {
      if (tie.signs[k] === own.signs[k] || group.either) return [];
      return [
        ", ",
        named(group.name),
        `\u00a0${tie.signs[k] > 0 ? "+" : "−"}${group.sign ? "" : " (zero in the fit)"}`,
      ];
    });
  const heads = ["Other pattern: what flips", "Objective"].map((text) => make("th", { scope: "col" }, text));
  const cost = ({ increase }) => (figures.proof.exact_fit ? exactText(increase) : `+${percent(increase)}`);
  const lines = others.map((tie) =>
    make("tr", {}, make("td", { class: "wrap" }, flipped(tie).slice(1)), make("td", {}, cost(tie))),
  );
  const body = make("tbody");
  showMore(body, lines, (line) => line, {
    first: 10,
    holder: (button) => make("tr", {}, make("td", { colspan: 2 }, button)),
  });
  return scrolling(make("table", {}, make("thead", {}, make("tr", {}, heads)), body), "Near ties");
}

function certaintySection(section) {
  if (!figures.certainty) {
    section.querySelector(".note").textContent = CERTAINTY_LEFT_OUT;
    return;
  }
  const { within, complete, ties } = figures.certainty;
  const own = ties[0]; // the fit itself comes first
  const known = ({ signs }) => signs.filter((_, k) => !signedGroups[k].either).join();
  const others = ties.filter((tie, i) => ties.findIndex((other) => known(other) === known(tie)) === i).slice(1);
  const near = figures.proof.exact_fit
    ? "with an exact fit (up to rounding)"
    : `within ${percent(within)} of the best objective`;
  const words = others.length
    ? `${count(others.length, "other sign pattern")} ${near}${complete ? "" : ", and there may be more"}.`
    : `No other sign pattern ${complete ? "comes" : "was found"} ${near}${complete ? "" : ", but there may be some"}.`;
  const either = signedGroups.some((group) => group.either) ? " Groups that fit with either sign are not counted." : "";
  const left = make("div", {}, make("h3", {}, "Cost of flipping each sign"), ...flips());
  const right = make("div", { id: "ties" }, make("h3", {}, "Near ties"), make("p", {}, words + either));
  if (others.length) right.append(...tieTable(own, others));
  section.append(make("div", { class: "pair" }, left, right));
}
