// Before the first paint: the theme that was chosen here, if any.
"use strict";
try {
  const chosen = localStorage.getItem("frontdesk-theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be closed to this page; the system's theme is used then.
}
