// Bars, in HTML so that names wrap and grow with the text.

// A bar from zero to value on an axis from low to high; "was" marks another value.
function track(value, low, high, { was = null, kind = side(value) } = {}) {
  const at = (v) => (high > low ? (100 * (Math.min(Math.max(v, low), high) - low)) / (high - low) : 0);
  const bar = make("i", { class: kind });
  bar.style.left = at(Math.min(value, 0)) + "%";
  bar.style.width = at(Math.max(value, 0)) - at(Math.min(value, 0)) + "%";
  const tick = (v, kind) => {
    const line = make("u", { class: kind });
    line.style.left = at(v) + "%";
    return line;
  };
  return make("span", { class: "track", "aria-hidden": "true" }, bar, tick(0), was === null ? null : tick(was, "was"));
}

function barRow(name, bar, figure, small) {
  const value = make("span", { class: "figure" }, figure, small ? make("small", {}, small) : null);
  return make("div", { class: "row" }, make("span", { class: "name" }, name), bar, value);
}

const FIRST = 30; // bars shown at once; the others on request
function showMore(list, items, build, { first = FIRST, holder = (button) => make("li", { class: "rest" }, button) } = {}) {
  list.replaceChildren(...items.slice(0, first).map(build));
  if (items.length <= first) return;
  const showRest = () => last.replaceWith(...items.slice(first).map(build));
  const last = holder(make("button", { type: "button", class: "quiet", onclick: showRest }, `Show ${items.length - first} more`));
  list.append(last);
}
