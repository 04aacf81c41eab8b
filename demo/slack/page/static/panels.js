// The panels around the halves, and what the guided tour does in them: it types, points and turns to a half.
"use strict";

const TOUR_SEEN = "frontdesk-tour-closed";

operations.type = ({ id, text, seconds }) => {
  const area = byId(id);
  if (!area || area.value) return;
  const began = performance.now();
  const step = (now) => {
    const share = seconds ? (now - began) / 1000 / seconds : 1;
    if (share < 1 && !text.startsWith(area.value)) return; // somebody writes here themselves
    area.value = share < 1 ? text.slice(0, Math.round(text.length * share)) : "";
    grow(area);
    if (share < 1) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
};

operations.point = ({ half, ts, action_id }) => {
  const shown = document.querySelectorAll(`#${half} .message[data-ts="${ts}"] [data-action-id="${CSS.escape(action_id)}"]`);
  for (const each of shown) {
    each.scrollIntoView({ block: "nearest" });
    each.classList.add("pointed");
    setTimeout(() => each.classList.remove("pointed"), 1500);
  }
};

// Nothing where both halves are in sight.
operations.front = ({ half }) => {
  if (!byId(half).checkVisibility()) show(narrow.matches ? half : "both");
};

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-panel]");
  if (button) open(button.dataset.panel, byId(button.dataset.panel).hidden);
});

document.addEventListener("keydown", ({ target, key }) => {
  const panel = key === "Escape" && target.closest?.(".tour, .faults");
  if (panel) open(panel.id, false);
});

// Shows or hides a panel; the focus goes along.
function open(id, wanted) {
  const panel = byId(id);
  const opener = document.querySelector(`.bar [data-panel=${id}]`);
  const hadFocus = panel.contains(document.activeElement);
  panel.hidden = !wanted;
  opener.ariaExpanded = String(wanted);
  if (!wanted && hadFocus) opener.focus();
  if (id === "tour" && !wanted) remember(TOUR_SEEN);
}

function remember(name) {
  try {
    localStorage.setItem(name, "yes");
  } catch {
    // It opens by itself the next time, too.
  }
}

function isRemembered(name) {
  try {
    return localStorage.getItem(name) === "yes";
  } catch {
    return false;
  }
}

if (byId("tour") && !isRemembered(TOUR_SEEN)) open("tour", true);
