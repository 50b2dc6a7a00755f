// The moments of a network over time: a slider, a play button, and what a cable carries (topology.py).
{
  const root = document.querySelector(".network"), its = JSON.parse(root.querySelector("script").textContent);
  const map = root.querySelector(".map svg"), player = root.querySelector(".player");
  const slider = player.querySelector("input"), button = player.querySelector("button"), output = player.querySelector("output");
  const halves = [...map.querySelectorAll(".half")], dots = [...map.querySelectorAll("circle.queue")];
  const crosses = new Map([...map.querySelectorAll(".cross")].map(one => [+one.dataset.cable, one]));
  const row = new Map(its.links.map((link, i) => [link, i])), shapes = halves.map(shape);
  const tip = document.createElement("div");
  const PER_SECOND = 12, NEAR_PX = 12;
  let moment = +slider.value, used, queue, paused, faults = [], at = null, timer = null;
  tip.className = "tip"; tip.hidden = true; root.append(tip);

  // The numbers of the moments: bytes of utilization in percent, then low and high bytes of queues, then of pauses, by port.
  async function unpacked() {
    const packed = Uint8Array.from(atob(its.data), letter => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer()), values = bytes.length / (its.paused === null ? 3 : 4);
    used = bytes.subarray(0, values);
    paused = its.paused === null ? null : bytes.subarray(3 * values);
    queue = Uint16Array.from({ length: values }, (_, i) => bytes[values + i] + 256 * bytes[2 * values + i]);
  }

  // Draws a moment; `now` sets every element, not only those that differ from the moment drawn before.
  function draw(to, now = false) {
    const moments = its.samples.length;
    its.links.forEach((link, i) => {
      const percent = used[i * moments + to], long = queue[i * moments + to];
      if (now || percent !== used[i * moments + moment]) colour(halves[link].style, percent);
      if (paused) halves[link].classList.toggle("paused", paused[i * moments + to] >= its.paused);
      if (now || long !== queue[i * moments + moment]) dot(dots[link], long * its.unit > its.mtu ? long / its.most : 0);
    });
    moment = to;
    fail();
    slider.value = to;
    output.value = its.times[to];
    map.setAttribute("aria-label", `${its.title}, at ${its.times[to]}`);
    slider.setAttribute("aria-valuetext", its.times[to]);
    player.querySelector(".now").setAttribute("d", `M${to + .5} 0V1`);
    busiest();
    if (at) describe(at);
  }

  function colour(style, percent) {
    const [idle, busy] = its.widths;
    style.stroke = `var(--u${percent})`;
    style.strokeWidth = (idle + (busy - idle) * percent / 100).toFixed(2);
  }

  function dot(circle, share) {
    const radius = its.radius * Math.sqrt(share);
    circle.setAttribute("r", radius.toFixed(2));
    circle.setAttribute("stroke-width", (radius / its.ring).toFixed(2));
    circle.style.fill = `var(--q${Math.round(100 * share)})`;
  }

  // The faults at some time of the moment; those that are down are drawn as failed.
  function fail() {
    const begin = its.edges[moment], end = its.edges[moment + 1];
    faults = its.faults.filter(([, from, to]) => from < end && to > begin);
    const failed = new Set(faults.filter(isDown).map(([link]) => link));
    for (const [link] of its.faults.filter(isDown)) halves[link].classList.toggle("down", failed.has(link));
    for (const [cable, cross] of crosses) cross.classList.toggle("shown", failed.has(2 * cable) || failed.has(2 * cable + 1));
  }

  function isDown([, , , what]) { return what === "down"; }

  function percent(link) { return `${used[row.get(link) * its.samples.length + moment]} %`; }
  function frames(link) { return (queue[row.get(link) * its.samples.length + moment] * its.unit / its.mtu).toFixed(1); }

  // The ports with the longest queues, as a table.
  function busiest() {
    const body = root.querySelector("tbody"), many = its.samples.length;
    const order = its.links.map((link, i) => [queue[i * many + moment], used[i * many + moment], -i, link]);
    const first = [];
    for (let place = 0; place < Math.min(its.rows, order.length); place++) {
      let best = place;
      for (let i = place + 1; i < order.length; i++) if (above(order[i], order[best])) best = i;
      [order[place], order[best]] = [order[best], order[place]];
      first.push(order[place][3]);
    }
    body.replaceChildren(...first.map(link => {
      const line = document.createElement("tr");
      [its.ports[link], percent(link), frames(link)].forEach((text, i) => {
        const cell = line.insertCell();
        cell.textContent = text; if (i) cell.className = "number";
      });
      return line;
    }));
  }

  function above(one, other) {
    for (let i = 0; i < 3; i++) if (one[i] !== other[i]) return one[i] > other[i];
    return false;
  }

  // The points of a half cable: a straight line, or a quarter of a Bézier curve in steps.
  function shape(path) {
    const [a, b, c, d, e, f] = path.getAttribute("d").match(/-?[\d.]+/g).map(Number);
    if (e === undefined) return [[a, b], [c, d]];
    return Array.from({ length: 7 }, (_, i) => i / 6).map(t =>
      [[a, c, e], [b, d, f]].map(([p, q, r]) => (1 - t) * (1 - t) * p + 2 * t * (1 - t) * q + t * t * r));
  }

  function distance(x, y, points) {
    let best = Infinity;
    for (let i = 1; i < points.length; i++) {
      const [ax, ay] = points[i - 1], [bx, by] = points[i], dx = bx - ax, dy = by - ay;
      const t = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
      best = Math.min(best, Math.hypot(ax + t * dx - x, ay + t * dy - y));
    }
    return best;
  }

  function describe(event) {
    const matrix = map.getScreenCTM(), point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    let near = NEAR_PX / matrix.a, found = -1;
    shapes.forEach((points, link) => { const far = distance(point.x, point.y, points); if (far < near) [near, found] = [far, link]; });
    for (const one of map.querySelectorAll(".on")) one.classList.remove("on");
    tip.hidden = found < 0; at = found < 0 ? null : event;
    if (found < 0) return;
    const both = [found & ~1, found | 1];
    for (const link of both) halves[link].classList.add("on");
    beside(event, tip, root, both.flatMap(told));
  }

  // What one direction of a cable does at this time.
  function told(link) {
    const head = document.createElement("b"), lines = [head];
    head.textContent = its.ports[link];
    const rate = its.rates[its.rate[link]];
    const stopped = paused && row.has(link) ? paused[row.get(link) * its.samples.length + moment] : 0;
    lines.push(line(row.has(link) ? `${rate}, utilization ${percent(link)}, queue ${frames(link)} frames` : `${rate}, not recorded`));
    if (stopped) lines.push(line(`paused for ${stopped} % of the time`));
    const mine = faults.filter(fault => fault[0] === link);
    return [...lines, ...mine.map(([, from, to, what]) => line(`${what} from ${number(from)} to ${number(to)} us`))];
  }

  function play(on) {
    clearInterval(timer);
    timer = on ? setInterval(() => moment + 1 < its.samples.length ? draw(moment + 1) : play(false), 1000 / PER_SECOND) : null;
    button.textContent = on ? "❚❚ Pause" : "▶ Play";
    root.dataset.playing = on;
  }

  button.addEventListener("click", () => {
    if (timer === null && moment + 1 >= its.samples.length) draw(0);
    play(timer === null);
  });
  slider.addEventListener("input", () => { play(false); draw(+slider.value); });
  map.addEventListener("pointermove", describe); map.addEventListener("pointerdown", describe);
  map.addEventListener("pointerleave", () => { at = null; tip.hidden = true; for (const one of map.querySelectorAll(".on")) one.classList.remove("on"); });
  unpacked().then(() => {
    player.hidden = false; root.querySelector(".static").hidden = true; play(false);
    draw(moment, true);
    root.dataset.ready = true;
  }).catch(() => root.querySelector(".static").append(" This browser cannot unpack them: it has no DecompressionStream."));
}
