// The headline, the theme, and the sections put together.

function headline() {
  const { fit, proof } = figures;
  byId("lead").append(`${fit.n_groups === 1 ? "One group" : count(fit.n_groups, "group")} of features explain${fit.n_groups === 1 ? "s" : ""} `,
    make("b", {}, percent(fit.r_squared)), " of the variance of ", named(figures.target), ".");
  const list = (sign, words) => {
    const found = signedGroups.filter((group) => group.sign === sign).sort((a, b) => Math.abs(b.share) - Math.abs(a.share));
    if (!found.length) return [];
    const names = found.slice(0, 5).flatMap((group, i) => [i ? ", " : "", named(group.name)]);
    return [make("b", { class: side(sign) }, `${arrow(sign)} ${words}`), " ", ...names, found.length > 5 ? ` and ${found.length - 5} more` : "", ". "];
  };
  const unsure = signedGroups.filter((group) => group.sign).sort((a, b) => (a.flip.increase ?? Infinity) - (b.flip.increase ?? Infinity))[0];
  byId("reading").append(...list(1, "Push it up:"), ...list(-1, "Push it down:"), ...list(0, "No effect:"),
    ...(unsure ? ["The least certain sign is that of ", named(unsure.name), unsure.flip.increase < 0 ? ": a better model has the other one." : `: with the other one, the objective rises by ${unsure.flip.exact ? "" : "at most "}${percent(unsure.flip.increase)}.`] : []));
  byId("proof").append(make("div", { class: proof.proved ? "verdict" : "verdict open" }, make("strong", {}, `${proof.proved ? "✓ " : ""}${proof.verdict}`), make("p", {}, proof.meaning), make("p", { class: "small" }, proof.audit)));
  const tiles = [[number(fit.r_squared), "R²"], [number(fit.rmse), "typical error (root mean square)"], [fit.n_rows.toLocaleString("en"), "rows"],
    [`${fit.n_columns.toLocaleString("en")} in ${fit.n_groups.toLocaleString("en")}`, "features in groups"], [percent(fit.gap), "gap to the proven bound"], [figures.price ? `+${percent(figures.price.price)}` : "–", "price of the constraint"]];
  byId("tiles").append(...tiles.map(([value, label]) => make("div", {}, make("dt", {}, label), make("dd", {}, value))));
}

function theme() {
  const root = document.documentElement, button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => { button.textContent = dark() ? "☀ Light" : "☾ Dark"; button.setAttribute("aria-label", `Switch to ${dark() ? "light" : "dark"} colours`); };
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
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
byId("contents").append(...[...document.querySelectorAll("main section")].map((section) => make("a", { href: "#" + section.id }, section.dataset.short)));
