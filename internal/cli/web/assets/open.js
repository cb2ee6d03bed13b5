// A link to this server leads to the pages of the session that this browser has, if it has one: its
// path is known to no other program.
"use strict";
const base = localStorage.getItem("gl-base");
if (base && /^\/s\/[\w-]+\/$/.test(base)) {
  location.replace(base + (location.pathname.startsWith("/open/") ? location.pathname.slice(6) : ""));
}
