// Keeps a page current: asks for its changing part, and changes only what is different, so that focus, selection and
// open parts stay. Shows times in the reader's zone. Without this file, the pages work, and stand still.
const page = document.getElementById("page");
const pause = document.getElementById("pause");
const seconds = Number(page?.dataset.refresh ?? 0);

function localize(within) {
  for (const time of within.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    time.title = moment.toISOString().replace("T", " ").slice(0, 19) + " UTC";
    time.textContent = moment.toLocaleString(undefined, { dateStyle: "short", timeStyle: "medium" });
  }
}

const keyOf = (node) => (node.nodeType === 1 ? node.dataset?.id ?? (node.id || null) : null);

// Make `old` the same as `fresh`, in place. Children are found again by data-id or id, others by their order.
function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) return void old.replaceWith(fresh);
  if (old.nodeType !== 1) return void (old.nodeValue = fresh.nodeValue);
  if (old.matches("form[data-edited]")) return; // it is sent as its reader has seen it
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && !kept(old, name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (!kept(old, name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old.matches("input, textarea, select, .reading")) return; // what the reader has written stays
  const keyed = new Map([...old.childNodes].filter(keyOf).map((node) => [keyOf(node), node]));
  let at = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    const key = keyOf(next);
    let match = key ? keyed.get(key) : at;
    if (!key) while (match && keyOf(match)) match = match.nextSibling;
    if (!match || match.nodeName !== next.nodeName) old.insertBefore(next, at);
    else {
      if (match !== at) old.insertBefore(match, at);
      else at = at.nextSibling;
      morph(match, next);
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

// What the reader has opened or chosen.
const kept = (node, name) => (name === "open" && node.nodeName === "DETAILS") || name === "tabindex" || name === "data-here";

let stopped = false;
let failures = 0;

async function refresh() {
  const busy = document.hidden || stopped || document.querySelector("dialog[open]");
  if (!busy) {
    try {
      const answer = await fetch(location.href, { headers: { "X-Fragment": "1" }, redirect: "manual" });
      if (answer.type === "opaqueredirect") return void location.reload(); // the login has ended
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("page");
      if (fresh && answer.ok && !stopped) {
        localize(fresh);
        morph(page, document.adoptNode(fresh));
      }
      failures = answer.ok ? 0 : failures + 1;
    } catch {
      failures += 1;
    }
    page.toggleAttribute("data-stale", failures > 1);
  }
  setTimeout(refresh, Math.min(seconds * 2 ** failures, 30) * 1000);
}

if (page) localize(document);
if (page && pause && seconds > 0) {
  pause.parentElement.hidden = false;
  pause.addEventListener("click", () => {
    stopped = !stopped;
    pause.setAttribute("aria-pressed", String(stopped));
    pause.textContent = stopped ? "Go on" : "Pause";
  });
  setTimeout(refresh, seconds * 1000);
}

document.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copy]");
  if (!copy || !navigator.clipboard) return; // browsers give it to https and localhost only
  await navigator.clipboard.writeText(copy.dataset.copy);
  const before = copy.textContent;
  copy.textContent = "Copied";
  setTimeout(() => (copy.textContent = before), 1500);
});

document.addEventListener("input", (event) => event.target.form?.toggleAttribute("data-edited", true));

// The point of a chart under the pointer, or chosen by arrow keys: its line, and its values below the chart.
function read(point) {
  const chart = point.closest("[data-chart]");
  chart.querySelector("[data-here]")?.removeAttribute("data-here");
  point.setAttribute("data-here", "");
  chart.querySelector(".reading").textContent = point.querySelector("title").textContent;
}

document.addEventListener("pointerover", (event) => {
  const point = event.target.closest(".at");
  if (point) read(point);
});

document.addEventListener("keydown", (event) => {
  const points = [...(event.target.closest("[data-chart]")?.querySelectorAll(".at") ?? [])];
  const step = { ArrowLeft: -1, ArrowRight: 1, Home: -points.length, End: points.length }[event.key];
  if (!step) return;
  event.preventDefault();
  const at = points.findIndex((point) => point.hasAttribute("data-here"));
  read(points[Math.min(Math.max(at < 0 ? points.length - 1 : at + step, 0), points.length - 1)]);
});
