// Values under the pointer: every .chart holds an SVG and, as JSON, what its axes show (chart.py).
"use strict";
const NEAR = 3;  // points of the figure within which a thin box is meant
for (const chart of document.querySelectorAll(".chart")) {
  const svg = chart.querySelector("svg"), axes = JSON.parse(chart.querySelector("script").textContent);
  const tip = document.createElement("div"), cursor = document.createElementNS(svg.namespaceURI, "line");
  tip.className = "tip"; tip.hidden = true; cursor.classList.add("cursor");
  const hide = () => { tip.hidden = true; cursor.remove(); };
  const show = event => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const ax = axes.find(({ box: [x, y, w, h] }) => at.x >= x && at.x <= x + w && at.y >= y && at.y <= y + h);
    const found = ax && under(ax, at);
    if (!found) return hide();
    for (const [name, value] of Object.entries({ x1: found.at, x2: found.at, y1: ax.box[1], y2: ax.box[1] + ax.box[3] }))
      cursor.setAttribute(name, value);
    svg.append(cursor); chart.append(tip);
    beside(event, tip, chart, found.lines);
  };
  chart.addEventListener("pointermove", show); chart.addEventListener("pointerdown", show);
  chart.addEventListener("pointerleave", hide);
}

// Shows lines in a tip within a frame, beside the pointer.
function beside(event, tip, frame, lines) {
  tip.replaceChildren(...lines); tip.hidden = false;
  const box = frame.getBoundingClientRect(), wide = tip.offsetWidth, left = event.clientX - box.left + 14;
  tip.style.left = `${Math.max(0, left + wide > box.width ? left - wide - 28 : left)}px`;
  tip.style.top = `${Math.max(0, event.clientY - box.top - tip.offsetHeight - 8)}px`;
}

// Where a value is along a side of its axes, from 0 to 1.
function share([low, high, log], value) {
  return log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

// What is under a point: a box that is drawn there, or of each line the point nearest along x.
function under(ax, at) {
  const [left, top, width, height] = ax.box, place = x => left + width * share(ax.x, x);
  const y = 1 - (at.y - top) / height;
  const within = ([, , low, high]) => (y - share(ax.y, low)) * (y - share(ax.y, high)) <= 0;
  const boxes = ax.boxes.filter(within)
    .map(box => [Math.max(place(box[0]) - at.x, at.x - place(box[1]), 0), box]).filter(([far]) => far <= NEAR);
  if (boxes.length) {
    const [, box] = boxes.reduce((one, other) => other[0] < one[0] ? other : one);
    return { at: at.x, lines: [line(box[4])] };
  }
  const points = ax.lines.map(its => [its, nearest(its, ax, at, place)]).filter(([, i]) => i !== null);
  if (!points.length) return null;
  const far = ([its, i]) => Math.abs(place(its.x[i]) - at.x);
  const [its, i] = points.reduce((one, other) => far(other) < far(one) ? other : one);
  const head = line(`${ax.name}: ${number(its.x[i])}`);
  return { at: place(its.x[i]), lines: [head, ...points.map(([of, j]) => line(`${of.name}: ${number(of.y[j])}`, of.colour))] };
}

// The point of a line that the pointer means: of steps the one that holds there, else the nearest, if it is near.
function nearest(its, ax, at, place) {
  let low = 0, high = its.x.length;
  while (low < high) { const middle = (low + high) >> 1; if (place(its.x[middle]) <= at.x) low = middle + 1; else high = middle; }
  if (its.step) return low ? low - 1 : null;
  const near = [low - 1, low].filter(i => i >= 0 && i < its.x.length);
  if (!near.length) return null;
  const best = near.reduce((one, other) => Math.abs(place(its.x[other]) - at.x) < Math.abs(place(its.x[one]) - at.x) ? other : one);
  return Math.abs(place(its.x[best]) - at.x) <= ax.box[2] / 8 ? best : null;
}

function line(text, colour) {
  const row = document.createElement("div");
  if (colour) { const dot = document.createElement("i"); dot.style.background = colour; row.append(dot); }
  row.append(text);
  return row;
}

function number(value) { return String(+value.toPrecision(6)); }
