/* The page to play with: recorded runs of W-DBO (window.sktvboRuns, by docs/record_runs.py). */
(function () {
  "use strict";
  const data = window.sktvboRuns;
  const root = document.getElementById("play");
  if (!data || !root) return;

  const decode = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  for (const row of data.runs)
    for (const run of row) {
      run.mean = decode(run.mean);
      run.std = decode(run.std);
    }

  // The same function as in record_runs.py.
  const truth = (x, t, rate) => {
    const top = 0.5 + 0.35 * Math.sin(rate * t);
    return Math.exp(-0.5 * ((x - top) / 0.12) ** 2) + 0.4 * Math.exp(-0.5 * ((x - 0.9) / 0.06) ** 2);
  };
  const best = (t, rate) => {
    let place = 0;
    for (let i = 0; i <= 500; i++) if (truth(i / 500, t, rate) > truth(place, t, rate)) place = i / 500;
    return place;
  };

  root.innerHTML =
    '<canvas id="play-now" role="img" aria-label="Prediction for all inputs, now"></canvas>' +
    '<canvas id="play-time" role="img" aria-label="Queries over time"></canvas>' +
    '<p id="play-status" aria-live="polite"></p>' +
    '<div class="play-controls">' +
    '<button id="play-button" type="button">Pause</button>' +
    '<label>step <input id="play-step" type="range" min="0" max="' + (data.steps - 1) + '"></label>' +
    '<label>speed of the hill <input id="play-rate" type="range" min="0" max="' +
    (data.rates.length - 1) + '"><output id="play-rate-value"></output></label>' +
    '<label>α, how freely it forgets <input id="play-alpha" type="range" min="0" max="' +
    (data.alphas.length - 1) + '"><output id="play-alpha-value"></output></label></div>';
  const find = (name) => document.getElementById("play-" + name);
  const step = find("step"), rate = find("rate"), alpha = find("alpha"), button = find("button");

  // ?step=80&rate=3&alpha=2 shows a moment, and stands still.
  const asked = new URLSearchParams(window.location.search);
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  let playing = !asked.has("step") && !still;
  step.value = asked.get("step") || (still ? 100 : 0);
  rate.value = asked.get("rate") || 2;
  alpha.value = asked.get("alpha") || 2;

  const RED = "#d62728", GREY = "#8a8a8a", BLUE = "#0072b2", CYAN = "#00b8c4";
  let backdrop = { rate: -1 };

  function context(canvas, height) {
    const width = root.clientWidth, ratio = window.devicePixelRatio || 1;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "13px sans-serif";
    return [pen, width, height];
  }

  const ink = () => getComputedStyle(root).color;

  function drawNow(run, t, speed) {
    const [pen, width, height] = context(find("now"), 240);
    const n = data.places, px = (x) => 8 + x * (width - 16);
    const py = (y) => height - 18 - ((y - data.low) / (data.high - data.low)) * (height - 30);
    const mean = (i) => data.low + (run.mean[t * n + i] / 255) * (data.high - data.low);
    const std = (i) => (run.std[t * n + i] / 255) * data.widest;
    pen.save();
    pen.beginPath();
    pen.rect(0, 0, width, height - 16);
    pen.clip();
    pen.fillStyle = "rgba(0, 114, 178, 0.2)";
    pen.beginPath();
    for (let i = 0; i < n; i++) pen.lineTo(px(i / (n - 1)), py(mean(i) + 2 * std(i)));
    for (let i = n - 1; i >= 0; i--) pen.lineTo(px(i / (n - 1)), py(mean(i) - 2 * std(i)));
    pen.fill();
    const line = (colour, dash, f) => {
      pen.strokeStyle = colour;
      pen.lineWidth = 2;
      pen.setLineDash(dash);
      pen.beginPath();
      for (let i = 0; i < n; i++) pen.lineTo(px(i / (n - 1)), py(f(i)));
      pen.stroke();
      pen.setLineDash([]);
    };
    line(BLUE, [], mean);
    line(ink(), [5, 4], (i) => truth(i / (n - 1), t, speed));
    for (let i = 0; i <= t; i++) {
      const gone = run.removed[i] >= 0 && run.removed[i] <= t;
      if (gone && t - run.removed[i] > 8) continue;
      pen.globalAlpha = gone ? 0.8 - (t - run.removed[i]) / 10 : Math.max(0.2, 1 - (t - i) / 60);
      mark(pen, px(run.x[i]), py(run.y[i]), gone, i === t);
    }
    pen.restore();
    pen.fillStyle = ink();
    pen.fillText("input", width - 46, height - 3);
    pen.fillText("value now: – – truth, — belief ± 2 s.d.", 10, 14);
  }

  function mark(pen, x, y, gone, latest) {
    pen.beginPath();
    if (gone) {
      pen.strokeStyle = GREY;
      pen.lineWidth = 1.5;
      pen.moveTo(x - 3, y - 3);
      pen.lineTo(x + 3, y + 3);
      pen.moveTo(x - 3, y + 3);
      pen.lineTo(x + 3, y - 3);
      pen.stroke();
    } else {
      pen.fillStyle = RED;
      pen.arc(x, y, latest ? 6 : 4, 0, 2 * Math.PI);
      pen.fill();
    }
  }

  function drawTime(run, t, speed) {
    const [pen, width, height] = context(find("time"), 220);
    const px = (s) => 8 + (s / (data.steps - 1)) * (width - 16);
    const py = (x) => height - 18 - x * (height - 30);
    if (backdrop.rate !== speed || backdrop.width !== width) {
      backdrop = { rate: speed, width: width, tops: [] };
      for (let s = 0; s < data.steps; s++) backdrop.tops.push(best(s, speed));
    }
    pen.strokeStyle = CYAN;
    pen.lineWidth = 6;
    pen.globalAlpha = 0.45;
    pen.beginPath();
    backdrop.tops.forEach((x, s) => pen.lineTo(px(s), py(x)));
    pen.stroke();
    pen.globalAlpha = 1;
    let regret = 0;
    for (let i = 0; i <= t; i++) {
      mark(pen, px(i), py(run.x[i]), run.removed[i] >= 0 && run.removed[i] <= t, i === t);
      regret += truth(backdrop.tops[i], i, speed) - truth(run.x[i], i, speed);
    }
    pen.strokeStyle = ink();
    pen.lineWidth = 1;
    pen.strokeRect(px(t), 12, 0.5, height - 30);
    pen.fillStyle = ink();
    pen.fillText("input of the queries; band: the best input", 10, 10);
    pen.fillText("time", width - 40, height - 3);
    return regret / (t + 1);
  }

  function draw() {
    const t = Number(step.value), speed = data.rates[rate.value];
    const run = data.runs[rate.value][alpha.value];
    find("rate-value").textContent = speed;
    find("alpha-value").textContent = data.alphas[alpha.value];
    button.textContent = playing ? "Pause" : "Play";
    drawNow(run, t, speed);
    const regret = drawTime(run, t, speed);
    const kept = run.removed.slice(0, t + 1).filter((at) => at < 0 || at > t).length;
    find("status").textContent =
      "step " + (t + 1) + ": " + kept + " of " + (t + 1) + " observations kept, average regret " +
      regret.toFixed(3);
  }

  for (const slider of [rate, alpha]) slider.addEventListener("input", draw);
  step.addEventListener("input", () => {
    playing = false;
    draw();
  });
  button.addEventListener("click", () => {
    playing = !playing;
    draw();
  });
  window.addEventListener("resize", draw);
  window.setInterval(() => {
    if (!playing) return;
    step.value = (Number(step.value) + 1) % data.steps;
    draw();
  }, 150);
  draw();
})();
