// The rows as a table that sorts by any column, some rows to a page.

const PAGE = 15;
const PARTS = 8; // groups with a column

function tableSection(section) {
  const all = rows.number.map((_, row) => row).slice(1);
  const column = (name, value) => ({ name, value, text: aligned(all.map(value)) });
  const columns = [
    { name: "Row", value: (row) => rows.number[row], text: whole },
    column("Actual", (row) => rows.actual[row]),
    column("Predicted", (row) => rows.predicted[row]),
    column("Residual", residualOf),
    ...figures.groups.slice(0, PARTS).map((group, k) => column(group.name, (row) => rows.parts[row][k])),
  ];
  let order = all.slice();
  let sortedBy = 0;
  let descending = false;
  let page = 0;

  function sortBy(c) {
    descending = c === sortedBy ? !descending : c !== 0; // figures: the largest first
    sortedBy = c;
    const { value } = columns[c];
    order.sort((a, b) => (value(a) - value(b)) * (descending ? -1 : 1) || a - b);
    page = 0;
    draw();
  }

  function startFrom(row) {
    select(row);
    byId("what-if").scrollIntoView();
    byId("start-row").focus({ preventScroll: true });
  }

  function line(row) {
    const cells = columns.map(({ value, text }) => make("td", { "data-value": value(row) }, text(value(row))));
    const label = `Start the what-if panel from ${rowName(row)}`;
    const start = make("button", { type: "button", "aria-label": label, onclick: () => startFrom(row) });
    start.append(...cells[0].childNodes);
    cells[0].append(start);
    return make("tr", { class: row === selection.row ? "picked" : null }, cells);
  }

  function draw() {
    const direction = descending ? "descending" : "ascending";
    heads.forEach((head, c) => head.setAttribute("aria-sort", c === sortedBy ? direction : "none"));
    const first = page * PAGE;
    const last = Math.min(order.length, first + PAGE);
    body.replaceChildren(...order.slice(first, last).map(line));
    place.textContent = `${whole(first + 1)} to ${whole(last)} of ${whole(order.length)}`;
    previous.disabled = page === 0;
    next.disabled = last === order.length;
  }

  function turn(by) {
    page += by;
    draw();
  }

  const sorter = ({ name }, c) => make("button", { type: "button", onclick: () => sortBy(c) }, named(name));
  const heads = columns.map((one, c) => make("th", { scope: "col" }, sorter(one, c)));
  const body = make("tbody");
  const table = make("table", { id: "rows" }, make("thead", {}, make("tr", {}, heads)), body);
  const previous = make("button", { type: "button", onclick: () => turn(-1) }, "Previous");
  const next = make("button", { type: "button", onclick: () => turn(1) }, "Next");
  const place = make("span", { "aria-live": "polite" });
  limited(section, sample && ` Shown is ${sample}.`);
  limited(section, figures.fit.n_groups > PARTS && ` The ${PARTS} groups with the largest shares have a column.`);
  section.append(
    ...scrolling(table, "Rows of the data"),
    make("div", { class: "pager" }, previous, next, place),
  );
  selection.watchers.push(draw);
  draw();
}
