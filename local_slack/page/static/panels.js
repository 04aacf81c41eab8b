// The panels around the halves, the search over them, and what the guided tour does in them: it types and points.
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

// --- search ----------------------------------------------------------------------------------------------

const fillAnything = operations.fill;

// The search is filled anew with every letter: its field keeps the focus, its first hit is chosen.
operations.fill = (patch) => {
  const field = () => byId(`${patch.id}-field`);
  const wasOpen = Boolean(field());
  const hadFocus = document.activeElement === field();
  fillAnything(patch);
  if (field()) choose(field(), 0);
  if (field() && !wasOpen) field().focus();
  if (wasOpen && !field() && hadFocus) document.querySelector(`#${patch.id.split("-")[0]} .seek`)?.focus();
};

operations.reach = ({ id }) => {
  const message = byId(id);
  if (!message) return;
  followed.delete(message.parentElement);
  message.scrollIntoView({ block: "center" });
  message.classList.add("reached");
  setTimeout(() => message.classList.remove("reached"), 2500);
};

document.addEventListener("input", ({ target }) => {
  if (target.matches(".search-box input")) act("search", target, { text: target.value });
});

document.addEventListener("click", ({ target }) => {
  if (target.matches(".search-layer")) act("search_close", target);
});

document.addEventListener("keydown", (event) => {
  const { target, key } = event;
  if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === "k") {
    event.preventDefault();
    const half = target.closest?.(".half") ?? byId("left");
    return act("search_open", half.checkVisibility() ? half : document.querySelector(".half:not(#left)"));
  }
  if (!target.matches?.(".search-box input")) return;
  const hits = [...target.closest(".search-box").querySelectorAll(".hit")];
  const at = hits.findIndex((hit) => hit.ariaSelected === "true");
  if (key === "Enter") hits[at]?.click();
  else if (key === "ArrowDown" || key === "ArrowUp") {
    event.preventDefault();
    choose(target, (at + (key === "ArrowDown" ? 1 : hits.length - 1)) % hits.length);
  }
});

function choose(field, at) {
  select([...field.closest(".search-box").querySelectorAll(".hit")], at, field);
}

// --- external selects ------------------------------------------------------------------------------------

const asking = new Map(); // number of a question -> its field
let questions = 0;

document.addEventListener("input", ({ target }) => {
  if (!("suggest" in target.dataset)) return;
  clearTimeout(target.pending);
  const text = target.value.trim();
  if (text.length < Number(target.dataset.suggest)) return;
  target.pending = setTimeout(() => {
    asking.set(++questions, target);
    target.asked = questions;
    act("suggest", target, { action_id: target.dataset.of, block_id: target.dataset.in, text, field: questions });
  }, 250);
});

// What is chosen already stays; an answer to what is no longer typed is late.
operations.offer = ({ field, options }) => {
  const query = asking.get(field);
  asking.delete(field);
  if (query?.asked !== field) return;
  const select = query.parentElement.querySelector("select");
  const kept = [...select.options].filter((option) => option.selected || !option.value);
  const known = new Set(kept.map((option) => option.value));
  const fresh = options.filter(([value]) => !known.has(value)).map(([value, label]) => new Option(label, value));
  select.replaceChildren(...kept, ...fresh);
  select.classList.toggle("offered", fresh.length > 0);
};

// --- files in the composer -------------------------------------------------------------------------------

document.addEventListener("click", ({ target }) => {
  const form = target.closest(".composer");
  const menu = form?.querySelector(".menu");
  if (target.closest(".attach")) {
    if (menu) menu.open = false;
    form.elements.file.click();
  }
  if (target.closest(".detach")) {
    form.elements.file.value = "";
    showAttached(form);
    (menu?.querySelector("summary") ?? form.querySelector(".attach")).focus();
  }
});

document.addEventListener("change", ({ target }) => {
  if (!target.matches(".attached input")) return;
  showAttached(target.form);
  target.form.querySelector("textarea").focus();
});

function showAttached(form) {
  const [file] = form.elements.file.files;
  form.querySelector(".attached").hidden = !file;
  form.querySelector(".attached span").textContent = file?.name ?? "";
}

// As with words alone, everything stays in the composer until it is there.
async function share(form, area) {
  const button = form.querySelector(".send");
  if (button.ariaBusy === "true") return;
  button.ariaBusy = "true";
  const text = area.value;
  if (await isShared(form, text)) {
    form.elements.file.value = "";
    showAttached(form);
    sent(area.id, text);
    followed.add(form.closest("section").querySelector(".list"));
  }
  button.ariaBusy = null;
}

async function isShared(form, text) {
  const { channel, thread = "" } = form.dataset;
  const given = { user: form.closest(".half").dataset.user, channel, thread, text };
  return (await upload(form.elements.file.files[0], given)) !== null;
}

// What the workspace answers; null when it was told why not.
async function upload(file, given) {
  const body = new FormData();
  for (const [name, value] of Object.entries({ ...given, file })) body.append(name, value);
  try {
    const answer = await fetch(`/page/file${location.search}`, { method: "POST", body });
    const told = await answer.text();
    if (answer.ok) return told;
    operations.toast({ text: told });
  } catch {
    operations.toast({ text: "The workspace can't be reached at the moment." });
  }
  return null;
}

// The files of a modal are brought as soon as they are chosen; their ids go with the submission.
document.addEventListener("change", async ({ target }) => {
  if (target.dataset.input !== "file_input") return;
  const user = target.closest(".half").dataset.user;
  const brought = await Promise.all([...target.files].map((file) => upload(file, { user })));
  target.dataset.files = JSON.stringify(brought.filter((id) => id !== null));
});

// --- opening and closing ---------------------------------------------------------------------------------

// Shows or hides a panel; the focus goes along.
function open(id, wanted) {
  const panel = byId(id);
  const opener = document.querySelector(`.bar [data-panel=${id}]`);
  const hadFocus = panel.contains(document.activeElement);
  panel.hidden = !wanted;
  opener.ariaExpanded = String(wanted);
  if (!wanted && hadFocus) opener.focus();
  if (id === "tour" && !wanted) remember(TOUR_SEEN);
  if (id === "faults" && wanted && !byId("inspector").hidden) document.querySelector(".bar [data-do=inspect]").click();
}

// The inspector and the faults share the lower edge.
document.querySelector(".bar [data-do=inspect]").addEventListener("click", () => {
  if (byId("faults") && byId("inspector").hidden) open("faults", false);
});

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
