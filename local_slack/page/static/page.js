// The page's behaviour: it carries patches from the server into the document and acts from the person to the
// server. What is shown is decided on the server; here live only focus, scrolling, completion and menus.
"use strict";

const byId = (id) => document.getElementById(id);
const page = byId("page");
const lists = [...document.querySelectorAll(".list, .log")];
const followed = new Set(lists); // those that stay at their end when something is added
const waiting = new Map(); // act number -> the control that is busy, since when, and what follows the act
const drafts = new Map(); // id of a composer's field -> what is written there and not sent yet
const narrow = matchMedia("(max-width: 899px)"); // one half at a time
let socket = null;
let acts = 0;
let patience = 300;
const NOTICEABLE = 350; // milliseconds for which the press of an app's button shows at least

// --- patches ---------------------------------------------------------------------------------------------

const operations = {
  set({ id, name, value }) {
    const element = byId(id);
    if (!element) return;
    if (value === null) element.removeAttribute(name);
    else element.setAttribute(name, value);
    if (name === "data-key") element.dataset.jump = "yes";
    if (name === "data-address") keepAddress(value);
    if (name === "data-thread" && value === "open") byId(`${id}-thread-list`).dataset.jump = "yes";
  },
  fill({ id, html }) {
    const element = byId(id);
    if (!element) return;
    const fresh = element.cloneNode(false);
    fresh.innerHTML = html;
    morphChildren(element, fresh);
  },
  replace({ id, html }) {
    const element = byId(id);
    if (element) morph(element, parse(html));
  },
  append({ id, html }) {
    const fresh = parse(html);
    if (byId(fresh.id)) return morph(byId(fresh.id), fresh);
    fresh.classList.add("arriving");
    byId(id)?.append(fresh);
  },
  remove({ id }) {
    byId(id)?.remove();
  },
  done({ n, ok }) {
    const { control, since, then } = waiting.get(n) ?? {};
    waiting.delete(n);
    if (control) {
      const isTheApps = Boolean(control.dataset.actionId);
      const left = isTheApps ? NOTICEABLE - (performance.now() - since) : 0;
      setTimeout(() => isBusy(control) || control.removeAttribute("aria-busy"), left);
      control.toggleAttribute("data-failed", isTheApps && !ok);
    }
    then?.(ok);
  },
  toast({ text }) {
    const toast = document.createElement("div");
    toast.className = "toast";
    toast.textContent = text;
    byId("toasts").append(toast);
    setTimeout(() => toast.remove(), 7000);
  },
  errors({ id, errors }) {
    for (const field of document.querySelectorAll(`[id^="${id}-"].input-error`)) {
      field.textContent = errors[field.id.slice(id.length + 1, -"-error".length)] ?? "";
    }
    [...document.querySelectorAll(".input-error")].find((field) => field.textContent)?.scrollIntoView({ block: "center" });
  },
};

function apply(patches) {
  const writesAt = document.activeElement?.closest(".channel .composer")?.closest(".half");
  const modals = new Map([...document.querySelectorAll(".modal")].map((modal) => [modal.dataset.viewId, modal.closest(".half")]));
  const closed = writesAt?.dataset.thread === "closed";
  for (const patch of patches) operations[patch.op]?.(patch);
  arrangeAll();
  for (const area of document.querySelectorAll(".composer textarea")) restore(area);
  for (const list of lists) {
    if (list.dataset.jump) followed.add(list);
    delete list.dataset.jump;
    follow(list);
  }
  if (closed && writesAt.dataset.thread === "open") writesAt.querySelector(".thread textarea")?.focus();
  for (const modal of document.querySelectorAll(".modal")) {
    if (!modals.delete(modal.dataset.viewId)) modal.querySelector("input, textarea, select, button.button")?.focus();
  }
  const [gone] = modals.values();
  if (gone && document.activeElement === document.body) {
    gone.querySelector(`.${gone.dataset.thread === "open" ? "thread" : "channel"} .composer textarea`)?.focus();
  }
}

function follow(list) {
  if (followed.has(list)) list.scrollTop = list.scrollHeight;
}

function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

// Attributes that this script or the person sets and the server does not know of.
const OURS = {
  "aria-busy": "BUTTON",
  "aria-expanded": "BUTTON",
  "data-failed": "BUTTON",
  "data-files": "INPUT",
  open: "DETAILS",
  style: "TEXTAREA",
  "aria-activedescendant": "TEXTAREA",
};

// Turns one element into another in place, so that focus, selections, open details, half-written inputs and
// running animations survive wherever the two agree.
function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || (old.id ?? "") !== (fresh.id ?? "")) {
    old.replaceWith(fresh);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.data = fresh.data;
    return;
  }
  const same = old.dataset?.actionId === fresh.dataset?.actionId;
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !(same && OURS[name] === old.nodeName)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  morphChildren(old, fresh);
}

function morphChildren(old, fresh) {
  const wanted = [...fresh.childNodes];
  while (old.childNodes.length > wanted.length) old.lastChild.remove();
  wanted.forEach((child, index) => {
    if (index < old.childNodes.length) morph(old.childNodes[index], child);
    else old.append(child);
  });
}

// --- the socket ------------------------------------------------------------------------------------------

function connect() {
  socket = new WebSocket(`ws${location.protocol.slice(4)}//${location.host}/page/ws${location.search}`);
  socket.onopen = () => {
    patience = 300;
    page.dataset.link = "up";
  };
  socket.onmessage = (event) => apply(JSON.parse(event.data));
  socket.onclose = () => {
    page.dataset.link = "down";
    for (const { control, then } of waiting.values()) {
      control?.removeAttribute("aria-busy");
      then?.(false);
    }
    if (waiting.size) operations.toast({ text: "The connection broke: look whether that was done before you repeat it." });
    waiting.clear();
    byId("inspector").hidden = true;
    setTimeout(connect, patience);
    patience = Math.min(patience * 2, 5000);
  };
}

// Tells the server; `then` hears whether it was done. A control that is still busy with an act begins no other.
function act(what, from, more = {}, then = null) {
  if (socket?.readyState !== WebSocket.OPEN) {
    operations.toast({ text: "The workspace can't be reached at the moment." });
    return false;
  }
  const control = from.matches("form") ? from.querySelector("button:not([type])") : from.matches("button") ? from : null;
  if (isBusy(control)) return false;
  const half = from.closest(".half")?.dataset.half ?? "left";
  const message = from.closest(".message");
  const view = from.closest("[data-view-id]")?.dataset.viewId;
  const named = { channel: message?.dataset.channel, ts: message?.dataset.ts, element: message?.id, view_id: view };
  socket.send(JSON.stringify({ do: what, half, n: ++acts, ...named, ...more }));
  control?.setAttribute("aria-busy", "true");
  waiting.set(acts, { control, since: performance.now(), then });
  return true;
}

function isBusy(control) {
  return control && [...waiting.values()].some((each) => each.control === control);
}

function keepAddress(places) {
  const secret = new URLSearchParams(location.search).get("secret") ?? "";
  history.replaceState(null, "", `?secret=${encodeURIComponent(secret)}&${places}`);
}

// --- what the person does --------------------------------------------------------------------------------

document.addEventListener("click", async (event) => {
  if (event.target.matches(".side-open .frame")) return openSide(event.target.parentElement, false); // beside the drawer
  const target = event.target.closest("button, a, summary, .completions li, .hit");
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target) || target?.matches("[data-do]")) menu.open = false;
  }
  if (!target) return;
  const permalink = target.host === location.host && /^\/archives\/(\w+)\/p(\d{10})(\d{6})$/.exec(target.pathname);
  if (permalink) {
    event.preventDefault();
    const thread = new URL(target.href).searchParams.get("thread_ts") ?? `${permalink[2]}.${permalink[3]}`;
    return act("permalink", target, { channel: permalink[1], thread });
  }
  if (target.matches(".completions li")) return complete(target);
  if (target.matches(".bar [data-show]")) return show(target.dataset.show);
  if (target.matches("[data-theme-toggle]")) return changeTheme();
  if (target.matches("[data-world]")) return world(target);
  if (target.matches("[data-filter]")) return filterLog(target);
  const what = target.dataset.do;
  if (!what) return;
  if (what === "menu") return openSide(target.closest(".half"), true);
  if (["look", "search_open"].includes(what)) openSide(target.closest(".half"), false);
  if (what === "copy_link") return copyLink(target.closest(".message"));
  if (what === "inspect") toggleInspector();
  if (target.dataset.confirm && !(await confirmed(JSON.parse(target.dataset.confirm)))) return;
  if (what === "click") return click(target, target.dataset.value);
  const { channel, text, name, ts, thread, value } = target.dataset;
  const given = Object.entries({ channel, text, name, ts, thread, value }).filter(([, held]) => held);
  act(what, target, Object.fromEntries(given));
});

document.addEventListener("change", async (event) => {
  const { target } = event;
  if (target.dataset.choose === "act_as") return act("act_as", target, { value: target.value });
  if (!("dispatch" in target.dataset)) return;
  if (target.dataset.confirm && !(await confirmed(JSON.parse(target.dataset.confirm)))) return;
  const state = stateOf(target.closest("[data-view-id], .message"));
  click(target, state[target.dataset.blockId]?.[target.dataset.actionId]);
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.dataset.form) return; // the dialog's own
  event.preventDefault();
  if (form.dataset.form === "fault") return act("fault", form, { fault: Object.fromEntries(new FormData(form)) });
  if (form.dataset.form === "view") return act("submit", form, { state: stateOf(form) });
  const area = form.querySelector("textarea");
  if (form.dataset.form === "edit") return act("edit", form, { text: area.value });
  const { channel, thread } = form.dataset;
  if (form.elements.file.files.length) return share(form, area);
  const text = area.value;
  if (!text.trim()) return;
  closeCompletions(area);
  const before = [...waiting.values()].find((each) => each.control === form.querySelector(".send"));
  if (before) return sendAfter(before, area.id);
  followed.add(form.closest("section").querySelector(".list"));
  act("send", form, { text, channel, thread }, (ok) => ok && sent(area.id, text));
});

document.addEventListener("keydown", (event) => {
  const { target, key } = event;
  if (key === "Escape") return escape(target);
  if (target.matches?.(".modal *, .modal") && key === "Tab") return keepInside(event);
  if (!target.matches?.(".composer textarea, .editor textarea") || event.isComposing) return;
  const choices = target.form.querySelector(".completions");
  if (choices && !choices.hidden) {
    const options = [...choices.children];
    const at = options.findIndex((option) => option.ariaSelected === "true");
    if (key === "ArrowDown" || key === "ArrowUp") {
      event.preventDefault();
      return select(options, (at + (key === "ArrowDown" ? 1 : options.length - 1)) % options.length, target);
    }
    if (key === "Tab" || (key === "Enter" && !typedOut(target, options[at]))) {
      event.preventDefault();
      return complete(options[at]);
    }
  }
  if (key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    target.form.requestSubmit();
  }
});

document.addEventListener("input", ({ target }) => {
  if (!target.matches(".composer textarea, .editor textarea")) return;
  grow(target);
  if (!target.matches(".composer textarea")) return;
  keepDraft(target);
  offerCompletions(target);
});

document.addEventListener("focusout", ({ target }) => {
  if (target.matches?.(".composer textarea")) setTimeout(() => closeCompletions(target), 150);
});

// The words stay in the composer until they are sent; what was written behind them meanwhile stays.
function sent(id, text) {
  drafts.delete(id);
  const area = byId(id);
  if (!area?.value.startsWith(text)) return;
  area.value = area.value.slice(text.length);
  keepDraft(area);
  grow(area);
}

// What is sent while the message before it is still on its way goes after it.
function sendAfter(before, id) {
  const { then } = before;
  before.then = (ok) => {
    then?.(ok);
    if (ok) byId(id)?.form.requestSubmit();
  };
}

function keepDraft(area) {
  if (area.value) drafts.set(area.id, area.value);
  else drafts.delete(area.id);
}

// Somebody who comes back to a channel finds what they had begun to write there.
function restore(area) {
  if (area.value || !drafts.has(area.id)) return;
  area.value = drafts.get(area.id);
  grow(area);
}

// The channels of a narrow half lie over it while they are open.
function openSide(half, wanted) {
  if (half.classList.contains("side-open") === wanted) return;
  const [side, opener] = [half.querySelector(".side"), half.querySelector(".channel .menu-button")];
  const hadFocus = side.contains(document.activeElement);
  half.classList.toggle("side-open", wanted);
  opener.ariaExpanded = String(wanted);
  if (wanted) (side.querySelector(".place[aria-current]") ?? side.querySelector(".place")).focus();
  else if (hadFocus) opener.focus();
}

// A menu opens to the left of its button, and stays inside what it scrolls with.
document.addEventListener(
  "toggle",
  ({ target }) => {
    const list = target.matches("details.menu[open]") && target.querySelector(".menu-list");
    const around = list && target.closest(".list, .home-scroll, .modal-body");
    if (!around) return;
    list.style.translate = "";
    const missing = around.getBoundingClientRect().left + 8 - list.getBoundingClientRect().left;
    if (missing > 0) list.style.translate = `${missing}px`;
    list.scrollIntoView({ block: "nearest" });
  },
  true,
);

document.addEventListener("focusin", ({ target }) => {
  const half = document.querySelector(".side-open");
  if (half && !target.closest(".side")) openSide(half, false);
});

async function copyLink(message) {
  const { channel, ts, thread } = message.dataset;
  const root = thread && thread !== ts ? `?thread_ts=${thread}&cid=${channel}` : "";
  try {
    await navigator.clipboard.writeText(`${location.origin}/archives/${channel}/p${ts.replace(".", "")}${root}`);
    operations.toast({ text: "The link is in the clipboard. Pasted here, it opens the message." });
  } catch {
    operations.toast({ text: "The browser does not let this page write to the clipboard." });
  }
}

function click(target, value) {
  const state = stateOf(target.closest("[data-view-id], .message"));
  const { actionId: action_id, blockId: block_id } = target.dataset;
  act("click", target, { action_id, block_id, value, state, keep: target.matches(".feedback") });
}

function escape(target) {
  const half = target.closest?.(".half") ?? document.querySelector(".side-open");
  const menus = document.querySelectorAll("details.menu[open]");
  for (const menu of menus) menu.open = false;
  if (menus.length) return menus[0].querySelector("summary").focus();
  if (!half) return;
  const choices = half.querySelector(".completions:not([hidden])");
  if (choices) choices.hidden = true;
  else if (half.querySelector(".search-box")) act("search_close", target);
  else if (half.querySelector(".modal")) act("close_view", half.querySelector(".modal"));
  else if (target.closest(".editor")) act("cancel_edit", target);
  else if (half.classList.contains("side-open")) openSide(half, false);
  else if (half.dataset.thread === "open") act("close_thread", target);
}

function keepInside(event) {
  const inside = [...event.target.closest(".modal").querySelectorAll("button, input, select, textarea, a[href], summary")];
  const edge = event.shiftKey ? inside[0] : inside.at(-1);
  if (event.target !== edge) return;
  event.preventDefault();
  (event.shiftKey ? inside.at(-1) : inside[0]).focus();
}

// What the inputs of a message or view hold, as {block_id: {action_id: value}}.
function stateOf(container) {
  const state = {};
  for (const input of container?.querySelectorAll("[data-input]") ?? []) {
    const value = valueOf(input);
    const held = (state[input.dataset.blockId] ??= {});
    if (input.type === "checkbox") held[input.dataset.actionId] = [...(held[input.dataset.actionId] ?? []), ...value];
    else if (value !== undefined) held[input.dataset.actionId] = value;
  }
  return state;
}

function valueOf(input) {
  if (input.type === "checkbox") return input.checked ? [input.value] : [];
  if (input.type === "radio") return input.checked ? input.value : undefined;
  if (input.type === "file") return JSON.parse(input.dataset.files ?? "[]");
  if (input.multiple) return [...input.selectedOptions].map((option) => option.value);
  if (input.type === "datetime-local") return input.value ? Math.floor(new Date(input.value) / 1000) : undefined;
  return input.value || undefined;
}

function confirmed({ title, text, confirm, deny, style }) {
  const dialog = byId("confirm");
  const line = (tag, words, css = "") => Object.assign(document.createElement(tag), { textContent: words, className: css });
  const form = Object.assign(document.createElement("form"), { method: "dialog" });
  const no = Object.assign(line("button", deny || "Cancel", "button"), { value: "no" });
  const yes = Object.assign(line("button", confirm || "Yes", `button button-${style || "primary"}`), { value: "yes" });
  form.append(line("h2", title || "Are you sure?"), line("p", text), no, yes);
  dialog.replaceChildren(form);
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

// --- completion of @, # and / ----------------------------------------------------------------------------

function offerCompletions(area) {
  const choices = area.form.querySelector(".completions");
  const before = area.value.slice(0, area.selectionStart);
  const found = /^(\/)(\S*)$/.exec(before) ?? /(?:^|\s)([@#])([^@#\n]{0,30})$/.exec(before);
  const known = found && !(found[1] === "/" && area.form.dataset.thread) ? JSON.parse(page.dataset.completions)[found[1]] : [];
  const fitting = known.filter(([name]) => name.toLowerCase().startsWith(found[2].toLowerCase())).slice(0, 8);
  choices.hidden = fitting.length === 0;
  choices.dataset.length = found ? found[2].length + 1 : 0;
  choices.replaceChildren(
    ...fitting.map(([name, about, shortcut], index) => {
      const option = document.createElement("li");
      option.id = `${choices.id}-${index}`;
      option.role = "option";
      option.dataset.insert = shortcut ? "" : `${found[1]}${name} `;
      if (shortcut) option.dataset.shortcut = shortcut;
      const label = document.createElement("b");
      label.textContent = shortcut ? name : `${found[1]}${name}`;
      option.append(label, ` ${about}`);
      return option;
    }),
  );
  if (fitting.length) select([...choices.children], 0, area);
}

function select(options, at, area) {
  options.forEach((option, index) => (option.ariaSelected = String(index === at)));
  options[at]?.scrollIntoView({ block: "nearest" });
  area.setAttribute("aria-activedescendant", options[at]?.id ?? "");
}

function complete(option) {
  const choices = option.parentElement;
  const area = choices.closest("form").querySelector("textarea");
  const start = area.selectionStart - Number(choices.dataset.length);
  area.setRangeText(option.dataset.insert, start, area.selectionStart, "end");
  keepDraft(area);
  area.focus();
  closeCompletions(area);
  if (option.dataset.shortcut) act("global_shortcut", area, { name: option.dataset.shortcut });
}

// Enter sends what is already written in full instead of completing it once more.
function typedOut(area, option) {
  if (option?.dataset.shortcut) return false;
  return !option || area.value.slice(0, area.selectionStart).endsWith(option.dataset.insert.trimEnd());
}

function closeCompletions(area) {
  const choices = area.form?.querySelector(".completions");
  if (choices) choices.hidden = true;
  area.removeAttribute("aria-activedescendant");
}

function grow(area) {
  area.style.height = "auto";
  area.style.height = `${Math.min(area.scrollHeight, 180)}px`;
}

// --- the top bar and the inspector -----------------------------------------------------------------------

function show(which) {
  page.dataset.show = which;
  for (const button of document.querySelectorAll(".bar [data-show]")) {
    button.ariaPressed = String(button.dataset.show === which);
  }
}

function changeTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("frontdesk-theme", root.dataset.theme);
  } catch {
    // Kept until the page is closed, then.
  }
}

async function world(button) {
  button.setAttribute("aria-busy", "true");
  const secret = new URLSearchParams(location.search).get("secret") ?? "";
  try {
    const answer = await fetch(`/_world/${button.dataset.world}?secret=${encodeURIComponent(secret)}`, { method: "POST" });
    if (!answer.ok) operations.toast({ text: `The world answered ${answer.status}.` });
  } catch {
    operations.toast({ text: "The world can't be reached." });
  }
  button.removeAttribute("aria-busy");
}

function toggleInspector() {
  const drawer = byId("inspector");
  drawer.hidden = !drawer.hidden;
  byId("log").dataset.jump = "yes";
  document.querySelector(".bar [data-do=inspect]").ariaExpanded = String(!drawer.hidden);
}

function filterLog(button) {
  byId("inspector").dataset.only = button.dataset.filter;
  for (const other of document.querySelectorAll("[data-filter]")) other.ariaPressed = String(other === button);
}

setInterval(() => {
  for (const row of document.querySelectorAll("[data-rotate]")) {
    const lines = row.dataset.rotate.split("\n");
    row.textContent = lines[Math.floor(Date.now() / 2500) % lines.length];
  }
}, 500);

if (narrow.matches) show("left");
for (const list of lists) {
  list.addEventListener("scroll", () => {
    const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 90;
    if (atEnd) followed.add(list);
    else followed.delete(list);
  });
  new ResizeObserver(() => follow(list)).observe(list);
}
document.addEventListener("DOMContentLoaded", connect); // after the other scripts, which patches need too
