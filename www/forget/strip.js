// The conversation as a strip in the product's ink: a column for each message, as wide as its tokens. What a window does not hold is
// ghost ink, crossed out.

/** So much of a message stands somewhere by chance: some of its runs of four words. */
export const CHANCE = 0.12;

/** A colour of the page's tokens, as a canvas takes it. `light-dark()` is resolved by an element that wears it. */
function colours() {
  const probe = document.createElement("i");
  probe.hidden = true;
  document.body.append(probe);
  const of = (name) => {
    probe.style.setProperty("color", `var(${name})`);
    return getComputedStyle(probe).color;
  };
  const all = Object.fromEntries(["paper", "paper-2", "paper-3", "ink", "ghost", "rule", "rule-strong", "rubric", "seg-system", "seg-user", "seg-assistant", "seg-tool", "seg-layer"].map((name) => [name, of(`--${name}`)]));
  probe.remove();
  return all;
}

let ink = colours();
export const renew = () => { ink = colours(); };
export const inkNow = () => ink;

/** The texture that stands for a role beside its colour. */
function texture(context, role, ratio) {
  const size = 8 * ratio;
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const t = tile.getContext("2d");
  t.scale(ratio, ratio);
  t.fillStyle = ink[`seg-${role}`];
  t.fillRect(0, 0, 8, 8);
  t.strokeStyle = t.fillStyle = ink.paper;
  t.globalAlpha = role === "user" ? 0.55 : role === "assistant" ? 0.4 : 0.75;
  t.lineWidth = 1;
  if (role === "user") {
    for (const at of [-8, 0, 8]) { t.beginPath(); t.moveTo(at - 1, 9); t.lineTo(at + 9, -1); t.stroke(); }
  } else if (role === "tool") {
    t.fillRect(3, 0, 1, 8); t.fillRect(7, 0, 1, 8);
  } else if (role === "assistant") {
    t.beginPath(); t.arc(2, 2, 0.9, 0, 7); t.arc(6, 6, 0.9, 0, 7); t.fill();
  } else if (role === "layer") {
    t.fillRect(0, 4, 8, 1); t.fillRect(0, 0, 8, 1);
  }
  return context.createPattern(tile, "repeat");
}

/**
 * Draws the messages of `outline` by their `shares`; `covered` says which of them a layer stands for.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {{ role: string, tokens: number }[]} outline
 * @param {ArrayLike<number>} [shares] what of each stands, 0 to 1; everything if nothing is said
 * @param {(n: number) => boolean} [covered]
 */
export function draw(canvas, outline, shares, covered = () => false) {
  const ratio = Math.max(1, window.devicePixelRatio ?? 1);
  const { clientWidth: width, clientHeight: height } = canvas;
  if (width === 0) return;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d");
  const patterns = Object.fromEntries(["system", "user", "assistant", "tool", "layer"].map((role) => [role, texture(context, role, ratio)]));
  context.scale(ratio, ratio);
  const total = outline.reduce((sum, { tokens }) => sum + tokens, 0) || 1;
  const fill = (style, x, y, w, h) => {
    if (w <= 0 || h <= 0) return;
    context.save();
    // the texture keeps its grain however wide the page is
    context.scale(1 / ratio, 1 / ratio);
    context.fillStyle = style;
    context.fillRect(x * ratio, y * ratio, w * ratio, h * ratio);
    context.restore();
  };
  let x = 0;
  const crossed = [];
  for (const [n, { role, tokens }] of outline.entries()) {
    const wide = (tokens / total) * width;
    const gap = wide > 3 ? 1 : 0;
    const share = shares === undefined ? 1 : shares[n];
    const stands = share >= 0.995 ? height : share < CHANCE ? 0 : Math.max(2, height * share);
    if (stands < height) {
      fill(ink["paper-3"], x, 0, wide - gap, height - stands);
      fill(ink["rule-strong"], x, 0, wide - gap, 1);
    }
    fill(stands < height && covered(n) ? patterns.layer : patterns[role], x, height - stands, wide - gap, stands);
    if (share < 0.5) {
      const last = crossed.at(-1);
      if (last && Math.abs(last.to - x) < 1.5) last.to = x + wide;
      else crossed.push({ from: x, to: x + wide });
    }
    x += wide;
  }
  context.strokeStyle = ink.rubric;
  context.lineWidth = 1.5;
  context.beginPath();
  for (const { from, to } of crossed) {
    if (to - from < 3) continue;
    context.moveTo(from + 1, height * 0.42);
    context.lineTo(to - 1, height * 0.42);
  }
  context.stroke();
}

/** The message under a point of the strip. */
export function messageAt(canvas, outline, clientX) {
  const { left, width } = canvas.getBoundingClientRect();
  const total = outline.reduce((sum, { tokens }) => sum + tokens, 0);
  let rest = ((clientX - left) / width) * total;
  return Math.max(0, outline.findIndex(({ tokens }) => (rest -= tokens) < 0));
}
