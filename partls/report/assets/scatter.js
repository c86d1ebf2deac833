// Rows as points; row 0, the average, is not one. A click or Enter makes a row the one that the page is about.

function scatter(holder, { xs, ys, guide, describe, ...names }) {
  const byX = [...xs.keys()].slice(1).sort((a, b) => xs[a] - xs[b]);
  const shownX = byX.map((row) => xs[row]);
  const shownY = byX.map((row) => ys[row]);
  const diagonal = guide === "diagonal";
  const xSpan = span(diagonal ? [...shownX, ...shownY] : shownX);
  const ySpan = diagonal ? xSpan : span([0, ...shownY]);
  let showPicked = () => {};

  responsive(holder, (width) => {
    const { svg, x, y } = axes(width, chartHeight(width), xSpan, ySpan, names);
    const [from, to] = diagonal ? xSpan : [0, 0];
    const places = byX.map((row) => [x(xs[row]), y(ys[row])]);
    const radius = byX.length > 400 ? 2.5 : 3.5;
    const dots = places.map(([cx, cy], i) =>
      make("circle", { class: residualOf(byX[i]) < 0 ? "dot down" : "dot", cx, cy, r: radius }),
    );
    const picked = make("circle", { class: "picked", r: 6 });
    const active = make("circle", { class: "active", r: 7 });
    const line = make("line", { class: "guide", x1: x(xSpan[0]), x2: x(xSpan[1]), y1: y(from), y2: y(to) });
    svg.append(line, make("g", {}, dots), picked, active);
    const put = (circle, i) => {
      circle.setAttribute("visibility", i < 0 ? "hidden" : "visible");
      if (i < 0) return;
      circle.setAttribute("cx", places[i][0]);
      circle.setAttribute("cy", places[i][1]);
    };
    const take = (i) => {
      select(byX[i]);
      say(`${rowName(byX[i])} is the start of the what-if panel`);
    };
    const nearest = (px, py) => {
      const distances = places.map(([cx, cy]) => Math.hypot(cx - px, cy - py));
      const best = distances.indexOf(Math.min(...distances));
      return distances[best] < 24 ? best : -1;
    };
    explorable(svg, places, { describe: (i) => describe(byX[i]), mark: (i) => put(active, i), nearest, take });
    put(active, -1);
    showPicked = (row) => put(picked, byX.indexOf(row));
    showPicked(selection.row);
    return svg;
  });
  selection.watchers.push((row) => showPicked(row));
}
