"use strict";
// Asks /status once a second and draws what changed. No library, no inline style or script: the
// page lives under a strict content security policy.

const KEEP = 120; // points: two minutes
const SVG = "http://www.w3.org/2000/svg";

// One row a chart: title, unit, lines of [label, value of (status now, status before, seconds)].
const rate = (read) => (now, before, s) => (before ? Math.max(0, (read(now) - read(before)) / s) : null);
const CHARTS = [
  ["Sessions", "", [["live", (n) => n.sessions.live], ["waiting to resume", (n) => n.sessions.lost]]],
  ["Tick", "ms", [["p50", (n) => n.tick.p50_ms], ["p99", (n) => n.tick.p99_ms]]],
  ["Late ticks", "/s", [["late", rate((n) => n.tick.late)]]],
  ["Frame age at clients", "ms", [["p50", (n) => n.frame_age.p50_ms], ["p99", (n) => n.frame_age.p99_ms]]],
  ["Frames", "/s", [["sent", rate((n) => n.frames.sent)], ["skipped", rate((n) => n.frames.skipped)]]],
  ["Sent", "MB/s", [["sent", rate((n) => n.bytes.sent / 1e6)]]],
  ["Memory", "MB", [["resident", (n) => n.process.resident_bytes / 1e6]]],
  ["Processor", "% of a core", [["used", rate((n) => n.process.cpu_seconds * 100)]]],
];

const element = (name, text) => {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  return e;
};

function makeChart([title, unit, lines]) {
  const figure = element("figure"), caption = element("figcaption"), now = element("span", "–");
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${KEEP - 1} 40`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  const paths = lines.map((_, i) => {
    const p = document.createElementNS(SVG, "polyline");
    p.setAttribute("class", i ? "second" : "first");
    svg.append(p);
    return p;
  });
  caption.append(element("strong", title), now);
  figure.append(caption, svg);
  document.getElementById("charts").append(figure);
  return { title, unit, lines, svg, now, paths, values: lines.map(() => []) };
}

const short = (v) => (v === null || v === undefined ? "–" : v >= 100 ? v.toFixed(0) : v.toFixed(v >= 10 ? 1 : 2));

function drawChart(c, status, before, seconds) {
  c.lines.forEach(([, read], i) => {
    c.values[i].push(read(status, before, seconds));
    if (c.values[i].length > KEEP) c.values[i].shift();
  });
  const top = Math.max(1e-9, ...c.values.flat().map((v) => v ?? 0)) * 1.1;
  c.values.forEach((values, i) => {
    const from = KEEP - values.length;
    c.paths[i].setAttribute("points", values
      .map((v, k) => (v === null ? "" : `${from + k},${(40 - (v / top) * 38).toFixed(2)}`)).join(" "));
  });
  const text = c.lines.map(([label], i) => `${label} ${short(c.values[i].at(-1))}`).join(", ");
  c.now.textContent = `${text} ${c.unit}`;
  c.svg.setAttribute("aria-label", `${c.title}: ${text} ${c.unit}; highest shown ${short(top / 1.1)} ${c.unit}`);
}

function drawSessions(list) {
  const rows = list.map((s) => {
    const row = element("tr");
    const cells = [s.session, s.state, s.link, s.scene, s.character, `${short(s.rate_hz)} Hz`,
      `${short(s.age_ms)} ms`, s.frames_sent, s.frames_skipped, `${short(s.queue_bytes / 1000)} kB`];
    cells.forEach((text) => row.append(element("td", String(text))));
    return row;
  });
  document.getElementById("sessions").replaceChildren(...rows);
}

const charts = CHARTS.map(makeChart);
const summary = document.getElementById("summary");
const pause = document.getElementById("pause");
let before = null, beforeAt = 0, paused = false;

// role=status is read aloud at every change: only changes that matter are written.
function say(text, bad) {
  if (summary.textContent !== text) summary.textContent = text;
  summary.className = bad ? "bad" : "";
}

async function step() {
  if (paused) return;
  try {
    const answer = await fetch("/status", { cache: "no-store" });
    if (!answer.ok) throw new Error(`/status answers ${answer.status}`);
    const status = await answer.json(), at = performance.now();
    for (const c of charts) drawChart(c, status, before, (at - beforeAt) / 1000);
    drawSessions(status.session_list);
    document.getElementById("models").replaceChildren(...status.models.map((m) =>
      element("li", `${m.name}: ${m.vertices} vertices, ${m.clips} clips${m.state === "ready" ? "" : `, ${m.state}`}`)));
    say(`Version ${status.version}, ${status.draining ? "stopping" : status.ready ? "ready" : "not ready"}.`,
      status.draining || !status.ready);
    before = status;
    beforeAt = at;
  } catch (e) {
    say(`No answer: ${e.message}`, true);
  }
}

pause.addEventListener("click", () => {
  paused = !paused;
  pause.setAttribute("aria-pressed", String(paused));
  pause.textContent = paused ? "Go on" : "Pause";
});
step();
setInterval(step, 1000);
