// The rows as a table that sorts by any column, some rows to a page.

const PAGE = 15, PARTS = 8;

function tableSection(section) {
  const shown = figures.groups.slice(0, PARTS);
  const all = rows.number.map((_, row) => row).slice(1);
  const column = (name, value) => [name, value, aligned(all.map(value))];
  const columns = [
    ["Row", (row) => rows.number[row], (v) => v.toLocaleString("en")],
    column("Actual", (row) => rows.actual[row]), column("Predicted", (row) => rows.predicted[row]), column("Residual", residualOf),
    ...shown.map((group, k) => column(group.name, (row) => rows.parts[row][k])),
  ];
  let order = all.slice(), sortedBy = 0, descending = false, page = 0;
  const body = make("tbody"), place = make("span", { "aria-live": "polite" });
  const heads = columns.map(([name], c) => make("th", { scope: "col" }, make("button", { type: "button", onclick: () => sortBy(c) }, named(name))));
  const previous = make("button", { type: "button", onclick: () => turn(-1) }, "Previous"), next = make("button", { type: "button", onclick: () => turn(1) }, "Next");

  function sortBy(c) {
    descending = c === sortedBy ? !descending : c !== 0; // figures: the largest first
    sortedBy = c;
    const value = columns[c][1];
    order.sort((a, b) => (value(a) - value(b)) * (descending ? -1 : 1) || a - b);
    page = 0;
    draw();
  }
  function turn(by) { page += by; draw(); }
  function draw() {
    heads.forEach((head, c) => head.setAttribute("aria-sort", c !== sortedBy ? "none" : descending ? "descending" : "ascending"));
    body.replaceChildren(...order.slice(page * PAGE, (page + 1) * PAGE).map((row) => make("tr", { class: row === selection.row ? "picked" : null },
      columns.map(([, value, text], c) => make("td", { "data-value": value(row) }, c ? text(value(row))
        : make("button", { type: "button", "aria-label": `Start the what-if panel from row ${text(value(row))}`, onclick: () => { select(row); byId("what-if").scrollIntoView(); byId("start-row").focus({ preventScroll: true }); } }, text(value(row))))))));
    place.textContent = `${(page * PAGE + 1).toLocaleString("en")} to ${Math.min(order.length, (page + 1) * PAGE).toLocaleString("en")} of ${order.length.toLocaleString("en")}`;
    previous.disabled = page === 0;
    next.disabled = (page + 1) * PAGE >= order.length;
  }
  selection.watchers.push(draw);
  const rest = figures.groups.length - shown.length;
  section.append(
    make("p", { class: "note" }, "Each row with its prediction and what each group contributes to it. Choose a heading to sort, a row to start the what-if panel from it.",
      sampled ? make("b", { class: "sampled" }, ` Shown is ${sampled}.`) : "", rest > 0 ? ` The ${PARTS} groups with the largest shares of the variance have a column.` : ""),
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Rows of the data" }, make("table", { id: "rows" }, make("thead", {}, make("tr", {}, heads)), body)),
    make("div", { class: "pager" }, previous, next, place));
  draw();
}
