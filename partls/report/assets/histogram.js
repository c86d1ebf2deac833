// Counts between edges.

function histogram(holder, { counts, edges, describe, ...names }) {
  responsive(holder, (width) => {
    const ends = [edges[0], edges.at(-1)];
    const { svg, x, y, top, floor } = axes(width, chartHeight(width), ends, [0, Math.max(...counts) * 1.05], names);
    counts.forEach((n, i) => {
      const box = { x: x(edges[i]) + 0.5, width: Math.max(1, x(edges[i + 1]) - x(edges[i]) - 1) };
      svg.append(make("rect", { class: "column", ...box, y: y(n), height: floor - y(n) }));
    });
    const places = counts.map((n, i) => [x((edges[i] + edges[i + 1]) / 2), y(n)]);
    const nearest = (px) => counts.findIndex((_, i) => px >= x(edges[i]) && px <= x(edges[i + 1]));
    explorable(svg, places, { describe, mark: cursor(svg, places, top, floor), nearest });
    return svg;
  });
}
