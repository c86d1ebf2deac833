// Bars in HTML, so that names wrap and scale with the text; points, steps and columns in SVG, drawn to the width at hand.

// A bar from zero to value on an axis from low to high; "was" marks another value.
function track(value, low, high, { was = null, kind = side(value) } = {}) {
  const at = (v) => (high > low ? (100 * (Math.min(Math.max(v, low), high) - low)) / (high - low) : 0);
  const bar = make("i", { class: kind });
  bar.style.left = at(Math.min(value, 0)) + "%";
  bar.style.width = at(Math.max(value, 0)) - at(Math.min(value, 0)) + "%";
  const zero = make("u");
  zero.style.left = at(0) + "%";
  const parts = [bar, zero];
  if (was !== null) {
    const mark = make("u", { class: "was" });
    mark.style.left = at(was) + "%";
    parts.push(mark);
  }
  return make("span", { class: "track", "aria-hidden": "true" }, parts);
}

function barRow(name, bar, figure, small) {
  return make("div", { class: "row" }, make("span", { class: "name" }, name), bar,
    make("span", { class: "figure" }, figure, small ? make("small", {}, small) : null));
}

// Round values on an axis, each with its text.
function ticks(low, high, about) {
  const raw = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * (1 - 1e-9));
  const digits = Math.max(0, Math.min(12, -Math.floor(Math.log10(step) + 1e-9)));
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i++) {
    const value = i * step;
    const plain = value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
    found.push([value, plain.length > 11 ? number(value) : plain]);
  }
  return found;
}

function span(values, pad = 0.04) {
  const low = Math.min(...values), high = Math.max(...values);
  const margin = (high - low) * pad || Math.abs(high) * 0.1 || 1;
  return [low - margin, high + margin];
}

// Draws again whenever the width changes.
function responsive(holder, draw) {
  let width = 0;
  new ResizeObserver(() => {
    if (holder.clientWidth === width || !holder.clientWidth) return;
    width = holder.clientWidth;
    draw(width);
  }).observe(holder);
}

// The frame of a chart: scales, ticks, axis names.
function frame(width, height, xs, ys, { xLabel, yLabel, label }) {
  const yTicks = ticks(ys[0], ys[1], 5);
  const left = 16 + 6.6 * Math.max(...yTicks.map(([, text]) => text.length)), right = 10, top = 24, bottom = 40;
  const x = (v) => left + ((v - xs[0]) / (xs[1] - xs[0])) * (width - left - right);
  const y = (v) => height - bottom - ((v - ys[0]) / (ys[1] - ys[0])) * (height - top - bottom);
  const svg = make("svg", { width, height, viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "application", "aria-roledescription": "chart", "aria-label": label });
  for (const [t, text] of yTicks) svg.append(make("line", { class: "axis", x1: left, x2: width - right, y1: y(t), y2: y(t) }),
    make("text", { x: left - 8, y: y(t) + 4, "text-anchor": "end" }, text));
  for (const [t, text] of ticks(xs[0], xs[1], Math.max(3, width / 75))) svg.append(make("text", { x: x(t), y: height - bottom + 18, "text-anchor": "middle" }, text));
  svg.append(make("text", { x: width - right, y: height - 4, "text-anchor": "end" }, xLabel), make("text", { x: 0, y: 12 }, yLabel));
  return { svg, x, y, left, right, top, bottom };
}

// Left and Right walk through places on a chart, Enter takes one; the pointer finds the nearest.
function explorable(svg, places, { describe, mark, nearest, take = () => {} }) {
  let here = -1;
  const visit = (i, aloud) => {
    here = i;
    mark(i);
    const box = svg.getBoundingClientRect(), [px, py] = places[i];
    showTip(describe(i), box.left + px, box.top + py);
    if (aloud) say(describe(i));
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const i = nearest(event.clientX - box.left, event.clientY - box.top);
    if (i >= 0) visit(i, false); else hideTip();
  });
  svg.addEventListener("pointerleave", hideTip);
  svg.addEventListener("blur", hideTip);
  svg.addEventListener("click", () => { if (here >= 0) take(here); });
  svg.addEventListener("keydown", (event) => {
    const there = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: places.length - 1, PageDown: here + 10, PageUp: here - 10 }[event.key];
    if (there !== undefined) visit(Math.max(0, Math.min(there, places.length - 1)), true);
    else if ((event.key === "Enter" || event.key === " ") && here >= 0) take(here);
    else return;
    event.preventDefault();
  });
}

// Points of rows: pairs [x, y] by row; row 0, the average, is left out.
function scatter(holder, { xs, ys, xLabel, yLabel, label, guide, describe }) {
  const rows = xs.map((_, row) => row).slice(1).sort((a, b) => xs[a] - xs[b]);
  responsive(holder, (width) => {
    const height = Math.min(380, Math.max(270, width * 0.72));
    const xSpan = span(guide === "diagonal" ? [...xs.slice(1), ...ys.slice(1)] : xs.slice(1));
    const ySpan = guide === "diagonal" ? xSpan : span([0, ...ys.slice(1)]);
    const { svg, x, y } = frame(width, height, xSpan, ySpan, { xLabel, yLabel, label });
    const ends = guide === "diagonal" ? [xSpan[0], xSpan[1]] : [0, 0];
    svg.append(make("line", { class: "guide", x1: x(xSpan[0]), x2: x(xSpan[1]), y1: y(ends[0]), y2: y(ends[1]) }));
    const places = rows.map((row) => [x(xs[row]), y(ys[row])]);
    const radius = rows.length > 400 ? 2.5 : 3.5;
    svg.append(make("g", {}, places.map(([cx, cy], i) =>
      make("circle", { class: figures.rows.actual[rows[i]] < figures.rows.predicted[rows[i]] ? "dot over" : "dot", cx, cy, r: radius }))));
    const picked = make("circle", { class: "picked", r: 6, visibility: "hidden" });
    const active = make("circle", { class: "active", r: 7, visibility: "hidden" });
    svg.append(picked, active);
    const put = (circle, i) => {
      circle.setAttribute("visibility", i < 0 ? "hidden" : "visible");
      if (i >= 0) { circle.setAttribute("cx", places[i][0]); circle.setAttribute("cy", places[i][1]); }
    };
    explorable(svg, places, {
      describe: (i) => describe(rows[i]), mark: (i) => put(active, i), take: (i) => { select(rows[i]); say(`${rowName(rows[i])} is the start of the what-if panel`); },
      nearest: (px, py) => {
        let best = -1, distance = 24 ** 2;
        places.forEach(([cx, cy], i) => {
          const d = (cx - px) ** 2 + (cy - py) ** 2;
          if (d < distance) { best = i; distance = d; }
        });
        return best;
      },
    });
    svg.addEventListener("blur", () => put(active, -1));
    svg.addEventListener("pointerleave", () => put(active, -1));
    holder.replaceChildren(svg);
    holder.onselection = (row) => put(picked, rows.indexOf(row));
    holder.onselection(selection.row);
  });
  selection.watchers.push((row) => holder.onselection && holder.onselection(row));
}

function columns(holder, { counts, edges, xLabel, yLabel, label, describe }) {
  responsive(holder, (width) => {
    const { svg, x, y } = frame(width, Math.min(380, Math.max(270, width * 0.72)), [edges[0], edges.at(-1)], [0, Math.max(...counts) * 1.05], { xLabel, yLabel, label });
    const boxes = counts.map((n, i) => make("rect", { class: "column", x: x(edges[i]) + 0.5, y: y(n), width: Math.max(1, x(edges[i + 1]) - x(edges[i]) - 1), height: y(0) - y(n) }));
    const cursor = make("line", { class: "cursor", y1: y(0), y2: 24, visibility: "hidden" });
    svg.append(...boxes, cursor);
    const places = counts.map((n, i) => [(x(edges[i]) + x(edges[i + 1])) / 2, y(n)]);
    explorable(svg, places, {
      describe,
      mark: (i) => { cursor.setAttribute("visibility", "visible"); cursor.setAttribute("x1", places[i][0]); cursor.setAttribute("x2", places[i][0]); },
      nearest: (px) => edges.slice(1).findIndex((edge, i) => px >= x(edges[i]) && px <= x(edge)),
    });
    for (const end of ["blur", "pointerleave"]) svg.addEventListener(end, () => cursor.setAttribute("visibility", "hidden"));
    holder.replaceChildren(svg);
  });
}

// Two lines that draw together: best objective and bound, by state of the search.
function steps(holder, { states, by, xLabel, label, describe }) {
  responsive(holder, (width) => {
    const xs = states.map((s) => s[by]);
    const known = states.flatMap((s) => [s[2], s[3]]).filter((v) => v !== null);
    const { svg, x, y, bottom } = frame(width, 300, [0, Math.max(...xs) * 1.02 || 1], span(known, 0.08), { xLabel, yLabel: "objective", label });
    const floor = 300 - bottom;
    const path = (column) => states.map((s, i) => {
      const height = s[column] === null ? floor : y(s[column]);
      return i === 0 ? `M${x(xs[0])},${height}` : `H${x(xs[i])}V${height}`;
    }).join("");
    const back = states.map((s, i) => {
      const j = states.length - 1 - i, height = states[j][3] === null ? floor : y(states[j][3]);
      return j === states.length - 1 ? `V${height}` : `V${height}H${x(xs[j])}`;
    }).join("");
    const cursor = make("line", { class: "cursor", y1: 24, y2: floor, visibility: "hidden" });
    svg.append(make("path", { class: "gap", d: path(2) + back + "Z" }), make("path", { class: "best", d: path(2) }), make("path", { class: "bound", d: path(3) }), cursor);
    const places = states.map((s) => [x(s[by]), y(s[2])]);
    explorable(svg, places, {
      describe,
      mark: (i) => { cursor.setAttribute("visibility", "visible"); cursor.setAttribute("x1", places[i][0]); cursor.setAttribute("x2", places[i][0]); },
      nearest: (px) => places.reduce((best, [cx], i) => (Math.abs(cx - px) < Math.abs(places[best][0] - px) ? i : best), 0),
    });
    for (const end of ["blur", "pointerleave"]) svg.addEventListener(end, () => cursor.setAttribute("visibility", "hidden"));
    holder.replaceChildren(svg);
  });
}
