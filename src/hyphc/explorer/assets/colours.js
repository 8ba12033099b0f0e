/* Colours of equal lightness and strength, so that no cluster shouts; converted from OKLCH. */

function oklch(lightness, chroma, degrees) {
  const a = chroma * Math.cos((degrees * Math.PI) / 180), b = chroma * Math.sin((degrees * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const channels = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((x) => Math.max(0, Math.min(1, x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055)));
  return "#" + channels.map((x) => Math.round(255 * x).toString(16).padStart(2, "0")).join("");
}

const HUES = 60;

class Colours {
  constructor(model) {
    this.model = model;
    this.mode = model.labels ? "label" : "cluster";
  }

  /** Read the theme's own colours from the style sheet and mix the palettes to go with them. */
  adopt(dark) {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["ink", "muted", "faint", "disk", "accent", "paper", "panel"]) this[name] = style.getPropertyValue("--" + name).trim();
    const pair = dark ? [0.78, 0.68] : [0.66, 0.55];
    const tone = (level, degrees) => oklch(level, dark ? 0.125 : 0.14, degrees);
    this.table = [];
    for (let i = 0; i < 2 * HUES; i++) this.table.push(tone(pair[i % 2], ((i >> 1) / HUES) * 360 + 20));
    this.labelOffset = this.table.length;
    const count = this.model.labelNames ? this.model.labelNames.length : 0;
    // Beyond two dozen labels neighbours in number get far hues; fewer share the circle evenly.
    const turn = count > 24 ? 137.508 : 360 / Math.max(count, 1);
    for (let i = 0; i < count; i++) this.table.push(tone(pair[i % 2], i * turn + 25));
    this.neutral = this.table.length;
    this.table.push(this.faint);
  }

  /** Number in the table of the colour of the cluster with this root, the index-th of the cut. */
  cluster(root, index) {
    return 2 * Math.floor(this.model.hue[root] * HUES) + (index & 1);
  }

  label(code) {
    return code < 0 ? this.neutral : this.labelOffset + code;
  }

  /** Number of the colour of any node; `index` is that of its cluster, −1 above the cut. */
  node(node, index) {
    if (this.model.isWeak(node)) return this.neutral;
    if (this.mode === "label") return this.label(this.model.majority[node]);
    return index < 0 ? this.neutral : this.cluster(this.model.clusters[index], index);
  }

  css(node) {
    return this.table[this.node(node, this.model.clusterOf(node))];
  }
}
