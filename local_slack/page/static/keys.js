// The keyboard beside typing: the links past everything else, toolbars and lists that are one stop of the Tab key,
// and menus, whose entries only the arrow keys reach.
"use strict";

const STEPS = { row: { ArrowRight: 1, ArrowLeft: -1 }, column: { ArrowDown: 1, ArrowUp: -1 } };
const IN_MENU = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };

document.addEventListener("click", (event) => {
  const link = event.target.closest(".skip");
  if (!link) return;
  event.preventDefault();
  const side = link.dataset.skip;
  if (!byId(side).checkVisibility()) show(narrow.matches ? side : "both");
  const [channel, thread] = [byId(`${side}-channel`), byId(side).querySelector(".thread")];
  (channel.checkVisibility() ? channel : thread.querySelector("textarea"))?.focus();
});

document.addEventListener("keydown", (event) => {
  const { target, key } = event;
  const menu = target.closest?.("details.menu");
  if (menu?.open && target.closest(".menu-list")) return moveInMenu(event, menu);
  if (target.matches?.("details.menu > summary") && ["ArrowDown", "ArrowUp"].includes(key)) {
    event.preventDefault();
    menu.open = true;
    return entries(menu).at(key === "ArrowDown" ? 0 : -1)?.focus();
  }
  const box = target.matches?.("button, summary") && target.closest("[data-rove]");
  if (box) move(event, members(box), STEPS[box.dataset.rove]);
});

// Whoever opens a menu from the keyboard stands in it.
document.addEventListener(
  "toggle",
  ({ target }) => {
    if (!target.matches("details.menu[open]") || !target.querySelector("summary:focus-visible")) return;
    entries(target)[0]?.focus();
  },
  true,
);

function moveInMenu(event, menu) {
  if (event.key === "Tab") {
    menu.open = false;
    menu.querySelector("summary").focus(); // from where the Tab key goes on
    return;
  }
  move(event, entries(menu), IN_MENU);
}

// To the next or the first or the last of `all`, round and round.
function move(event, all, steps) {
  const at = all.indexOf(event.target);
  const step = steps[event.key];
  const to = { Home: 0, End: all.length - 1 }[event.key] ?? (step && (at + step + all.length) % all.length);
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  all[to].focus();
}

function entries(menu) {
  return [...menu.querySelectorAll(".menu-list button")];
}

function members(box) {
  const all = [...box.querySelectorAll("button, summary")];
  return all.filter((each) => each.checkVisibility() && each.closest("[data-rove], .menu-list") === box);
}
