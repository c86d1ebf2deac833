// What the constraint costs, overall and group by group.

const PRICE_LEFT_OUT =
  "Left out: it takes about as long as the certainty of the signs, which was not settled in the time allowed. " +
  "Give the fit and the report more time to see it.";
const PRICE_BY_GROUP =
  "How much lower the objective gets when one group may mix signs, and which of its features then turn against it: " +
  "candidates for a group of their own.";

// What is gained beyond rounding is not shown as nothing.
const gain = (share) => (share < 5e-5 ? "less than 0.005%" : `−${percent(share)}`);

function priceSection(section) {
  if (!figures.price) {
    section.append(make("p", { class: "note" }, PRICE_LEFT_OUT));
    return;
  }
  if (figures.proof.exact_fit) {
    section.append(make("p", { id: "price-words" }, "The data are fitted exactly (up to rounding): the signs cost nothing."));
    return;
  }
  const groups = signedGroups.filter((group) => group.gain > 0).sort((a, b) => b.gain - a.gain);
  const list = make("ul", { class: "bars thin", id: "gains" });
  showMore(list, groups, (group) => {
    const bar = track(group.gain, 0, groups[0].gain, { kind: "none" });
    const against = group.against.flatMap(([name, coef]) => [", ", named(name), ` (${signed(coef, 3)})`]).slice(1);
    const rest = group.n_against - group.against.length;
    const words = against.length ? remark("pulls against: ", ...against, rest > 0 ? ` and ${rest} more` : "") : null;
    return make("li", { class: "priced" }, barRow(named(group.name), bar, gain(group.gain)), words);
  });
  const { price, unconstrained } = figures.price;
  const words =
    price === null
      ? ["Without the constraint, least squares fits the data exactly (up to rounding)."]
      : [
          "Requiring one sign per group raises the objective by ",
          make("b", {}, percent(price)),
          ` over least squares without the constraint (${number(unconstrained, 6)}).`,
        ];
  section.append(
    make("p", { id: "price-words" }, words),
    make("p", { class: "note" }, groups.length ? PRICE_BY_GROUP : "Freeing any single group gains nothing."),
    list,
  );
}
