// The course of the search, and the settings and versions behind it.

const REPLAYED =
  "This search was over within one round, too soon to be recorded. A plain search tells it again, the lowest bound " +
  "first; its nodes can differ.";
const NO_COURSE = "Best model and bound met at once, or their course was not recorded: there is none to draw.";

function pairs(items) {
  const entries = items.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, make("bdi", {}, value))]);
  return make("dl", { class: "plain" }, entries);
}

function searchSection(section) {
  const { states, replayed, counts } = figures.search;
  const { nodes, seconds, objective, lower_bound: bound, gap } = figures.fit;
  const outcome = figures.proof.exact_fit
    ? "the data are fitted exactly (up to rounding)"
    : `best objective ${number(objective, 8)}, proven lower bound ${number(bound, 8)}, gap ${percent(gap)}`;
  section.append(make("p", { class: "note" }, `${count(nodes, "node")} in ${number(seconds, 3)} s; ${outcome}.`));
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
  if (counts.length)
    section.append(make("h3", {}, "How the tree was closed"), pairs(counts.map(([name, n]) => [name, whole(n)])));
}

function settingsSection(section) {
  const half = (title, items) => make("div", {}, make("h3", {}, title), pairs(items));
  section.append(
    make("div", { class: "pair" }, half("Settings of the fit", figures.settings), half("Versions", figures.versions)),
  );
}
