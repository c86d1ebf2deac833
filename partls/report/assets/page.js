// The headline, the theme, and the sections put together.

function directions(sign, words) {
  return listed(
    signedGroups.filter((group) => group.sign === sign && !group.either), // the largest shares of the variance first
    side(sign),
    `${arrow(sign)} ${words}`,
  );
}

function listed(found, kind, words) {
  if (!found.length) return [];
  const names = found
    .slice(0, 5)
    .flatMap((group) => [", ", named(group.name)])
    .slice(1);
  const rest = found.length > 5 ? ` and ${found.length - 5} more` : "";
  return [make("b", { class: kind }, words), " ", ...names, `${rest}. `];
}

function leastCertain() {
  const [first] = byCertainty.filter((group) => !group.either);
  if (!first) return [];
  const { name, flip } = first;
  const most = flip.exact ? "" : "at most ";
  if (figures.proof.exact_fit && flip.increase !== 0 && !flip.exact) return [];
  const cost = figures.proof.exact_fit
    ? `with the other one, the fit is ${exactText(flip.increase)}`
    : flip.increase < -1e-9
      ? "a better model has the other one"
      : `with the other one, the objective rises by ${most}${percent(flip.increase)}`;
  return ["The least certain sign is that of ", named(name), `: ${cost}.`];
}

function leftOpen(lines) {
  if (!lines.length) return [];
  const items = lines.map((line) => make("li", {}, line));
  return [make("h2", {}, "What the data leave open"), make("ul", { id: "open" }, items)];
}

const PRICE_IS = "what asking for one sign per group adds to the objective";

function priceTile() {
  if (!figures.price) return "not computed";
  if (figures.proof.exact_fit) return "none";
  const { price } = figures.price;
  return price === null ? "exact without it" : `+${percent(price)}`;
}

function headline() {
  const { fit, proof } = figures;
  const groups =
    fit.n_groups === 1 ? "One group of features explains " : `${whole(fit.n_groups)} groups of features explain `;
  byId("lead").append(
    groups,
    make("b", {}, percent(fit.r_squared)),
    " of the variance of ",
    named(figures.target),
    ".",
  );
  byId("reading").append(
    ...directions(1, "Push it up:"),
    ...directions(-1, "Push it down:"),
    ...directions(0, "No effect:"),
    ...listed(signedGroups.filter((group) => group.either), "none", "↕ Either sign fits equally well:"),
    ...leastCertain(),
  );
  const verdict = make("strong", {}, `${proof.proved ? "✓ " : ""}${proof.verdict}`);
  const audit = make("p", { class: "small" }, proof.audit);
  byId("proof").append(
    make(
      "div",
      { class: proof.proved ? "verdict" : "verdict open" },
      verdict,
      make("p", {}, proof.meaning),
      audit,
    ),
  );
  const tiles = [
    ["R²", number(fit.r_squared), "the part of the target's variance that the model explains"],
    ["typical error", number(fit.rmse), "root mean square of the residuals, in units of the target"],
    ["rows", whole(fit.n_rows), null],
    ["features in groups", `${whole(fit.n_columns)} in ${whole(fit.n_groups)}`, null],
    ["gap", proof.exact_fit ? "none" : percent(fit.gap), "how much lower the objective of a better model could be"],
    ["price of the constraint", priceTile(), PRICE_IS],
  ];
  for (const [label, value, words] of tiles)
    byId("tiles").append(
      make("div", {}, make("dt", {}, label, words ? make("small", {}, words) : null), make("dd", {}, value)),
    );
  byId("beyond").append(...leftOpen(proof.open));
}

function theme() {
  const root = document.documentElement;
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => {
    button.textContent = dark() ? "☀ Light" : "☾ Dark";
    button.setAttribute("aria-label", `Switch to ${dark() ? "light" : "dark"} colours`);
  };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    name();
  });
  system.addEventListener("change", name);
  name();
}

theme();
headline();
groupsSection(byId("groups"));
certaintySection(byId("certainty"));
priceSection(byId("price"));
fitSection(byId("fit"));
whatIfSection(byId("what-if"));
tableSection(byId("data"));
searchSection(byId("search"));
settingsSection(byId("settings"));
for (const section of document.querySelectorAll("main section"))
  byId("contents").append(make("a", { href: "#" + section.id }, section.dataset.short));
