// Data tables: their columns are sorted and their pages turned here, as in Slack's client; the server draws all rows.
"use strict";

const arranged = new WeakMap(); // table -> the column it is sorted by, whether downwards, and the page that is seen

document.addEventListener("click", ({ target }) => {
  const button = target.closest(".data-table :is(.sort, [data-turn])");
  if (!button) return;
  const table = button.closest(".data-table");
  const held = arranged.get(table) ?? { column: "", down: false, page: 0 };
  const { sort, turn } = button.dataset;
  if (sort) arranged.set(table, { column: sort, down: held.column === sort && !held.down, page: 0 });
  else arranged.set(table, { ...held, page: held.page + Number(turn) });
  arrange(table);
});

// After each patch, which may have brought the rows back into the order that the server knows.
function arrangeAll() {
  for (const table of document.querySelectorAll(".data-table")) if (arranged.has(table)) arrange(table);
}

function arrange(table) {
  const { column, down, page } = arranged.get(table);
  const size = Number(table.dataset.pageSize);
  const body = table.querySelector("tbody");
  const rows = [...body.children].sort((one, other) => (column ? compared(one, other, column, table) : 0) || row(one) - row(other));
  if (column && down) rows.reverse();
  const first = Math.max(0, Math.min(page, Math.ceil(rows.length / size) - 1)) * size;
  rows.forEach((each, at) => (each.hidden = at < first || at >= first + size));
  body.replaceChildren(...rows);
  for (const head of table.querySelectorAll("thead th")) {
    const sorted = column && head.querySelector(".sort")?.dataset.sort === column;
    if (sorted) head.ariaSort = down ? "descending" : "ascending";
    else head.removeAttribute("aria-sort");
  }
  const pages = table.querySelector(".pages");
  if (!pages) return;
  pages.querySelector("span").textContent = `${first + 1}–${Math.min(first + size, rows.length)} of ${rows.length}`;
  pages.querySelector("[data-turn='-1']").disabled = first === 0;
  pages.querySelector("[data-turn='1']").disabled = first + size >= rows.length;
}

const row = (each) => Number(each.dataset.row);

function compared(one, other, column, table) {
  const [left, right] = [one, other].map((each) => each.children[column]);
  if ("numeric" in table.querySelector(`.sort[data-sort="${column}"]`).dataset) {
    return Number(left?.dataset.number) - Number(right?.dataset.number);
  }
  return (left?.textContent ?? "").localeCompare(right?.textContent ?? "");
}
