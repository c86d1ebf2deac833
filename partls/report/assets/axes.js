// What the charts in SVG have in common: axes drawn to the width at hand, and a way through them by pointer and keys.

// Round values on an axis, each with its text.
function ticks(low, high, about, least = 0) {
  const raw = Math.max((high - low) / about, least) || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * (1 - 1e-9));
  const digits = Math.max(0, Math.min(12, -Math.floor(Math.log10(step) + 1e-9)));
  const format = new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i++) {
    const text = format.format(i * step || 0).replace("-", "−");
    found.push([i * step, text.length > 11 ? number(i * step) : text]);
  }
  return found;
}

function span(values, pad = 0.04) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const margin = (high - low) * pad || Math.abs(high) * 0.1 || 1;
  return [low - margin, high + margin];
}

// Draws again whenever the width changes.
function responsive(holder, draw) {
  let width = 0;
  new ResizeObserver(() => {
    if (holder.clientWidth === width || !holder.clientWidth) return;
    width = holder.clientWidth;
    holder.replaceChildren(draw(width));
  }).observe(holder);
}

const chartHeight = (width) => Math.min(380, Math.max(270, width * 0.72));

// An empty chart: its scales, ticks and names of axes; "least" is the smallest step of x.
function axes(width, height, xs, ys, { xLabel, yLabel, label, least }) {
  const yTicks = ticks(ys[0], ys[1], 5);
  const [left, right] = [16 + 6.6 * Math.max(...yTicks.map(([, text]) => text.length)), width - 10];
  const [top, floor] = [24, height - 40];
  const x = (v) => left + ((v - xs[0]) / (xs[1] - xs[0])) * (right - left);
  const y = (v) => floor - ((v - ys[0]) / (ys[1] - ys[0])) * (floor - top);
  const about = { tabindex: 0, role: "application", "aria-roledescription": "chart", "aria-label": label };
  const svg = make("svg", { width, height, viewBox: `0 0 ${width} ${height}`, ...about });
  for (const [value, text] of yTicks) {
    svg.append(make("line", { class: "axis", x1: left, x2: right, y1: y(value), y2: y(value) }));
    svg.append(make("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, text));
  }
  for (const [value, text] of ticks(xs[0], xs[1], Math.max(3, width / 75), least))
    svg.append(make("text", { x: x(value), y: floor + 18, "text-anchor": "middle" }, text));
  svg.append(
    make("text", { x: right, y: height - 4, "text-anchor": "end" }, xLabel),
    make("text", { x: 0, y: 12 }, yLabel),
  );
  return { svg, x, y, top, floor };
}

// A vertical line at the place that is being read; -1 is none.
function cursor(svg, places, top, floor) {
  const line = make("line", { class: "cursor", y1: top, y2: floor, visibility: "hidden" });
  svg.append(line);
  return (i) => {
    line.setAttribute("visibility", i < 0 ? "hidden" : "visible");
    if (i >= 0) for (const end of ["x1", "x2"]) line.setAttribute(end, places[i][0]);
  };
}

// Left and Right walk through the places of a chart, Enter takes one; the pointer finds the nearest.
function explorable(svg, places, { describe, mark, nearest, take = () => {} }) {
  let here = -1;
  const visit = (i) => {
    here = i;
    mark(i);
    if (i < 0) return hideTip();
    const box = svg.getBoundingClientRect();
    showTip(describe(i), box.left + places[i][0], box.top + places[i][1]);
  };
  const leave = () => {
    mark(-1);
    hideTip();
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    visit(nearest(event.clientX - box.left, event.clientY - box.top));
  });
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
  svg.addEventListener("click", () => here >= 0 && take(here));
  svg.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
    if (event.key in steps) {
      const there = Math.max(0, Math.min(here + steps[event.key], places.length - 1));
      keepTip(() => visit(there));
      say(describe(there));
    } else if ((event.key === "Enter" || event.key === " ") && here >= 0) take(here);
    else return;
    event.preventDefault();
  });
}
