// Best objective and proven bound, state by state [nodes, seconds, best, bound]: two lines that draw together.

function steps(holder, { states, describe, ...names }) {
  const known = states.flatMap(([, , best, bound]) => [best, bound]).filter((value) => value !== null);
  const xSpan = span(
    states.map(([nodes]) => nodes),
    0.01,
  );
  responsive(holder, (width) => {
    const { svg, x, y, top, floor } = axes(width, 300, xSpan, span(known, 0.08), { ...names, least: 1 });
    const best = states.map((state) => [x(state[0]), y(state[2])]);
    const bound = states.map((state) => [x(state[0]), state[3] === null ? floor : y(state[3])]);
    const forth = (points) => points.map(([px, py], i) => (i ? `H${px}V${py}` : `M${px},${py}`)).join("");
    const back = (points) =>
      points
        .map(([px, py]) => `V${py}H${px}`)
        .reverse()
        .join("");
    svg.append(
      make("path", { class: "gap", d: forth(best) + back(bound) + "Z" }),
      make("path", { class: "best", d: forth(best) }),
      make("path", { class: "bound", d: forth(bound) }),
    );
    const nearest = (px) => {
      const distances = best.map(([cx]) => Math.abs(cx - px));
      return distances.indexOf(Math.min(...distances));
    };
    explorable(svg, best, { describe, mark: cursor(svg, best, top, floor), nearest });
    return svg;
  });
}
