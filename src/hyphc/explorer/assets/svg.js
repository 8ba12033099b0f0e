/* The part of the canvas interface that the page uses, with SVG as output. */

class Svg {
  constructor(width, height) {
    Object.assign(this, { width, height });
    this.parts = [];
    this.path = "";
    this.stack = [];
    this.matrix = [1, 0, 0, 1, 0, 0];
    this.pen = { fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, lineCap: "butt", globalAlpha: 1, font: "10px sans-serif", textAlign: "left", textBaseline: "alphabetic", dash: "" };
    for (const name of Object.keys(this.pen)) Object.defineProperty(this, name, { get: () => this.pen[name], set: (value) => (this.pen[name] = value) });
  }

  text() {
    const space = document.querySelector("svg").namespaceURI;
    return `<svg xmlns="${space}" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}">${this.parts.join("")}</svg>`;
  }

  save() {
    this.stack.push([{ ...this.pen }, this.matrix.slice()]);
  }

  restore() {
    const [pen, matrix] = this.stack.pop();
    Object.assign(this.pen, pen);
    this.matrix = matrix;
  }

  /** Multiply the current transformation by [a, b, c, d, e, f]. */
  transform(a, b, c, d, e, f) {
    const m = this.matrix;
    this.matrix = [m[0] * a + m[2] * b, m[1] * a + m[3] * b, m[0] * c + m[2] * d, m[1] * c + m[3] * d, m[0] * e + m[2] * f + m[4], m[1] * e + m[3] * f + m[5]];
  }

  translate(x, y) {
    this.transform(1, 0, 0, 1, x, y);
  }

  rotate(angle) {
    this.transform(Math.cos(angle), Math.sin(angle), -Math.sin(angle), Math.cos(angle), 0, 0);
  }

  /** Return the attributes of every element: transformation and opacity. */
  common() {
    const moved = this.matrix.some((value, k) => value !== [1, 0, 0, 1, 0, 0][k]);
    const alpha = this.pen.globalAlpha < 1 ? ` opacity="${this.pen.globalAlpha}"` : "";
    return (moved ? ` transform="matrix(${this.matrix.map(round).join(" ")})"` : "") + alpha;
  }

  beginPath() {
    this.path = "";
  }

  moveTo(x, y) {
    this.path += `M${round(x)} ${round(y)}`;
  }

  lineTo(x, y) {
    this.path += `L${round(x)} ${round(y)}`;
  }

  quadraticCurveTo(cx, cy, x, y) {
    this.path += `Q${round(cx)} ${round(cy)} ${round(x)} ${round(y)}`;
  }

  arc(x, y, r, from, to, backwards = false) {
    let sweep = backwards ? from - to : to - from;
    sweep = sweep >= TAU ? TAU : sweep - TAU * Math.floor(sweep / TAU);
    const sign = backwards ? -1 : 1;
    const point = (angle) => `${round(x + r * Math.cos(angle))} ${round(y + r * Math.sin(angle))}`;
    const halves = sweep > Math.PI ? 2 : 1;
    this.path += (this.path ? "L" : "M") + point(from);
    for (let k = 1; k <= halves; k++) this.path += `A${round(r)} ${round(r)} 0 0 ${backwards ? 0 : 1} ${point(from + (sign * sweep * k) / halves)}`;
  }

  roundRect(x, y, w, h) {
    this.path += `M${round(x)} ${round(y)}h${round(w)}v${round(h)}h${round(-w)}z`;
  }

  setLineDash(lengths) {
    this.pen.dash = lengths.join(" ");
  }

  stroke() {
    const { strokeStyle, lineWidth, lineCap, dash } = this.pen;
    if (this.path) this.parts.push(`<path d="${this.path}" fill="none" stroke="${plain(strokeStyle)}" stroke-width="${lineWidth}" stroke-linecap="${lineCap}"${dash ? ` stroke-dasharray="${dash}"` : ""}${this.common()}/>`);
  }

  fill() {
    if (this.path) this.parts.push(`<path d="${this.path}" fill="${plain(this.pen.fillStyle)}"${this.common()}/>`);
  }

  fillRect(x, y, w, h) {
    this.parts.push(`<rect x="${round(Math.min(x, x + w))}" y="${round(Math.min(y, y + h))}" width="${round(Math.abs(w))}" height="${round(Math.abs(h))}" fill="${plain(this.pen.fillStyle)}"${this.common()}/>`);
  }

  /** Ignore clipping: only the rounded corners of photographs are clipped. */
  clip() {}

  fillText(text, x, y) {
    const { fillStyle, font, textAlign, textBaseline } = this.pen;
    const anchor = { left: "start", center: "middle", right: "end" }[textAlign];
    const base = textBaseline === "middle" ? ' dominant-baseline="central"' : "";
    this.parts.push(`<text x="${round(x)}" y="${round(y)}" style="font:${plain(font)}" fill="${plain(fillStyle)}" text-anchor="${anchor}"${base}${this.common()}>${plain(text)}</text>`);
  }

  /** Embed an image, or a part of one, as PNG. */
  drawImage(image, ...box) {
    const part = box.length > 4 ? box.slice(0, 4) : [0, 0, image.width, image.height];
    const [x, y, w, h] = box.slice(-4);
    const copy = document.createElement("canvas");
    copy.width = Math.max(1, Math.round(part[2]));
    copy.height = Math.max(1, Math.round(part[3]));
    copy.getContext("2d").drawImage(image, ...part, 0, 0, copy.width, copy.height);
    this.parts.push(`<image x="${round(x)}" y="${round(y)}" width="${round(w)}" height="${round(h)}" preserveAspectRatio="none" style="image-rendering:pixelated" href="${copy.toDataURL()}"${this.common()}/>`);
  }
}

function round(value) {
  return Math.round(1000 * value) / 1000;
}

/** Escape text for XML, without the control characters that XML forbids. */
function plain(text) {
  const kept = String(text).replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, " ");
  return kept.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
