"use strict";
// Elements and figures. Text enters the page through text nodes and attributes only, never as HTML.

const figures = JSON.parse(document.getElementById("figures").textContent);
const byId = (id) => document.getElementById(id);

const SVG_TAGS = new Set(["svg", "g", "path", "circle", "rect", "line", "text"]);
function make(tag, attributes = {}, ...children) {
  const svg = SVG_TAGS.has(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// A remark below a heading or a chart; a note in bold says what is missing from the page.
const remark = (...children) => make("p", { class: "note small" }, ...children);
const limited = (section, words) =>
  words && section.querySelector(".note").append(make("b", { class: "limited" }, words));

// A name from the data: shown as text, and kept apart from the direction of the text around it.
// It may be broken after a mark or before a capital, so that no word is.
const named = (name) => {
  const words = name.split(/(?<=[_./,;:=+-])|(?<=[a-z])(?=[A-Z])/);
  const about = { title: name.length > 40 ? name : null, class: name.length > 30 ? "long" : null };
  return make("bdi", about, words.flatMap((word) => [make("wbr"), word]).slice(1));
};

// A table that may be wider than the screen, and words that say so where it is.
function scrolling(table, label) {
  const box = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table);
  const hint = make("p", { class: "hint", hidden: true }, "The table is wider than the screen: scroll it sideways \u2192");
  const look = () => {
    const room = box.scrollWidth - box.clientWidth;
    hint.hidden = room <= 1;
    box.classList.toggle("more-left", box.scrollLeft > 1);
    box.classList.toggle("more-right", box.scrollLeft < room - 1);
  };
  box.addEventListener("scroll", look, { passive: true });
  const observer = new ResizeObserver(look);
  [box, table].forEach((element) => observer.observe(element));
  return [hint, box];
}

function number(value, digits = 4) {
  if (value === null) return "∞";
  const size = Math.abs(value);
  const text =
    size !== 0 && (size >= 1e9 || size < 1e-4)
      ? Number(value.toExponential(digits - 1)).toExponential()
      : (value || 0).toLocaleString("en", { maximumSignificantDigits: digits }); // minus zero is zero
  return text.replace("-", "−").replace("e-", "e−").replace("e+", "e");
}
// Figures of one column, all with the same digits after the point.
function aligned(values) {
  const size = Math.max(...values.map(Math.abs));
  if (size >= 1e9 || (size < 1e-3 && size > 0)) return (value) => number(value);
  const digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(size || 1))));
  const format = new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (value) => format.format(value).replace("-", "−");
}
const signed = (value, digits) => (value > 0 ? "+" : "") + number(value, digits);
const percent = (share) => (share === null ? "∞" : number(Math.abs(100 * share) < 1e-6 ? 0 : 100 * share, 3) + "%");
const whole = (n) => n.toLocaleString("en");
const count = (n, noun) => `${whole(n)} ${noun}${n === 1 ? "" : "s"}`;
const side = (value) => (value > 0 ? "up" : value < 0 ? "down" : "none");
const arrow = (value) => (value > 0 ? "▲" : value < 0 ? "▼" : "○");

// One tooltip for the whole page; what it says is also on the element itself, for those who do not see it.
let follow = null; // puts the tip of what has the focus in its place again, while the page scrolls there
function showTip(text, x, y) {
  follow = null;
  const tip = byId("tip");
  tip.textContent = text;
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = Math.max(8, Math.min(x + 14, document.documentElement.clientWidth - width - 8)) + "px";
  tip.style.top = (y + 18 + height > innerHeight ? y - height - 12 : y + 18) + "px";
}
function keepTip(place) {
  place();
  follow = place;
}
const hideTip = () => {
  follow = null;
  byId("tip").hidden = true;
};
const say = (text) => {
  byId("live").textContent = text;
};
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideTip();
});
document.addEventListener("scroll", () => (follow ? keepTip(follow) : hideTip()), { passive: true });

function withTip(element, text) {
  element.addEventListener("pointermove", (event) => showTip(text(), event.clientX, event.clientY));
  element.addEventListener("pointerleave", hideTip);
  element.addEventListener("blur", hideTip);
  element.addEventListener("focus", () => {
    const place = () => {
      const box = element.getBoundingClientRect();
      showTip(text(), box.left + box.width / 3, box.bottom - 14);
    };
    if (element.matches(":focus-visible")) keepTip(place);
  });
  return element;
}

// Up, Down, Home and End walk through a list of buttons; Tab leaves it.
function walkable(list, selector) {
  list.addEventListener("keydown", (event) => {
    const buttons = [...list.querySelectorAll(selector)].filter((button) => button.offsetParent);
    const here = buttons.indexOf(document.activeElement);
    const there = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (here < 0 || there === undefined) return;
    event.preventDefault();
    buttons[Math.max(0, Math.min(there, buttons.length - 1))].focus();
  });
}

// Radio buttons in a row.
function choice(legend, options, onChange) {
  const name = legend.replace(/\W/g, "");
  return make(
    "fieldset",
    { class: "choice" },
    make("legend", { class: "unseen" }, legend),
    options.map(([value, text], i) =>
      make(
        "label",
        {},
        make("input", { type: "radio", name, value, checked: i === 0, onchange: () => onChange(value) }),
        text,
      ),
    ),
  );
}

// The row of data that charts, table and what-if panel have in common; 0 is the average row.
const selection = { row: 0, watchers: [] };
function select(row) {
  selection.row = row;
  selection.watchers.forEach((watch) => watch(row));
}
const rowName = (row) => (row === 0 ? "the average row" : `row ${whole(figures.rows.number[row])}`);
