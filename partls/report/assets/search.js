// The course of the search, and the settings and versions behind it.

const REPLAYED =
  "This search ended before its course could be recorded. The chart shows a second search of the same problem, the " +
  "lowest bound first; its nodes can differ.";
const NODE =
  "A node is a set of sign patterns that have some signs in common; it is closed once its lower bound shows that nothing " +
  "in it is better.";
const START =
  "Each start descends to a model that no change of a single sign improves; the bound is that of all sign patterns together.";
const TRIED =
  "More than the nodes counted above: where the search tries both signs of a group, it may close one of the two halves " +
  "at once, without a visit of its own.";
const NO_COURSE = "There is no course to draw: the best model and the bound met at once, or were not recorded.";

// The options of a fit, where the name does not say what it is.
const MEANS = {
  backend: "what solved the subproblems",
  certificate: "where the proof was written",
  eta: "strength of the penalty on the effects of the groups",
  executor: "what else explored the tree",
  fit_intercept: "whether the model has an intercept",
  gap_tol: "the gap at which the search may end",
  method: "bnb is branch and bound",
  n_jobs: "threads",
  penalize_intercept: "whether the penalty holds for the intercept, too",
  penalty: "l2 squares the effects, l1 takes their size",
  presolve: "whether signs were settled before the search",
  random_state: "seed of what is drawn at random",
  ridge: "weight of the squares of all coefficients",
  sample_weight: "weights of the rows",
  signs: "signs known beforehand",
  time_limit: "seconds for the search",
  ungrouped: "what becomes of columns in no group",
};

function pairs(items) {
  const entries = items.flatMap(([name, value, words]) => [
    make("dt", {}, named(name)),
    make("dd", {}, make("bdi", {}, value), words ? make("small", {}, words) : null),
  ]);
  return make("dl", { class: "plain" }, entries);
}

function closingTable(closing) {
  const line = ([words, n], i) =>
    make(
      "tr",
      { class: i === closing.length - 1 ? "sum" : null },
      make("th", { scope: "row" }, words),
      make("td", {}, whole(n)),
    );
  return make("table", { id: "closing", class: "narrow" }, make("tbody", {}, closing.map(line)));
}

function searchSection(section) {
  const { states, replayed, counts } = figures.search;
  const { nodes, starts, seconds, objective, lower_bound: bound, gap } = figures.fit;
  const work = starts ? count(starts, "start") : count(nodes, "node");
  const outcome = figures.proof.exact_fit
    ? "the data are fitted exactly (up to rounding)"
    : `best objective ${number(objective, 8)}, proven lower bound ${number(bound, 8)}, gap ${percent(gap)}`;
  section.append(make("p", { class: "note" }, `${work} in ${number(seconds, 3)} s; ${outcome}. ${starts ? START : NODE}`));
  if (states.length) {
    const describe = (i) => {
      const [visited, time, best, lower] = states[i];
      const known = lower === null ? "none yet" : number(lower, 7);
      return `after ${count(visited, "node")}, ${number(time, 3)} s\nbest ${number(best, 7)}\nbound ${known}`;
    };
    const label = "Best objective and proven lower bound during the search. Arrow keys walk through it.";
    const caption = "The best model found and the proven bound" + (replayed ? ", replayed node by node" : "");
    const lines = legend(["down", "━", "best model found"], ["up", "━", "proven lower bound"], ["none", "▒", "gap"]);
    section.append(chart(caption, steps, { states, xLabel: "nodes", yLabel: "objective", label, describe }, lines));
  } else section.append(make("p", {}, NO_COURSE));
  const cut =
    replayed < states.length ? ` Its first ${count(replayed, "node")} are shown, then where the search ended.` : "";
  if (states.length && replayed) section.append(remark(REPLAYED + cut));
  const { closing } = figures.search;
  if (closing.length) section.append(make("h3", {}, "What became of the nodes"), closingTable(closing));
  if (closing.length && closing.at(-1)[1] !== nodes) section.append(remark(TRIED));
  if (counts.length)
    section.append(make("h3", {}, "Which bounds did it"), pairs(counts.map(([name, n]) => [name, whole(n)])));
}

function settingsSection(section) {
  const half = (title, items) => make("div", {}, make("h3", {}, title), pairs(items));
  section.append(
    make("div", { class: "pair" }, half(
      "Settings of the fit",
      figures.settings.map(([name, value]) => [name, value, MEANS[name]]),
    ), half("Versions", figures.versions)),
  );
}
