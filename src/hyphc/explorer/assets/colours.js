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
const STEPS = 48; // of a scale of numbers

class Colours {
  constructor(model) {
    this.model = model;
    this.column = model.labels ? model.columns[0] : null; // null: by cluster
    this.last = model.columns[0] ?? null; // the column to come back to
  }

  /** "cluster", or "column". */
  get mode() {
    return this.column ? "column" : "cluster";
  }

  by(column) {
    this.column = column;
    if (column) this.last = column;
  }

  /** Read the theme's own colours from the style sheet and mix the palettes to go with them. */
  adopt(dark) {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["ink", "muted", "faint", "disk", "accent", "paper", "panel"]) this[name] = style.getPropertyValue("--" + name).trim();
    const pair = dark ? [0.78, 0.68] : [0.66, 0.55];
    const tone = (level, degrees) => oklch(level, dark ? 0.125 : 0.14, degrees);
    this.table = [];
    for (let i = 0; i < 2 * HUES; i++) this.table.push(tone(pair[i % 2], ((i >> 1) / HUES) * 360 + 20));
    for (const column of this.model.columns) {
      column.offset = this.table.length;
      const count = column.classes ? column.classes.length : 0;
      // Beyond two dozen classes neighbours in number get far hues; fewer share the circle evenly.
      const turn = count > 24 ? 137.508 : 360 / Math.max(count, 1);
      for (let i = 0; i < count; i++) this.table.push(tone(pair[i % 2], i * turn + 25));
    }
    this.scale = this.table.length;
    // From dark blue over green to yellow; on dark ground the dark end is lighter.
    for (let i = 0; i < STEPS; i++) {
      const t = i / (STEPS - 1);
      this.table.push(oklch((dark ? 0.45 : 0.38) + (dark ? 0.45 : 0.44) * t, 0.11 + 0.04 * t, 285 - 185 * t));
    }
    this.neutral = this.table.length;
    this.table.push(this.faint);
    this.mixDiverging(dark);
  }

  /** 256 colours from low (blue) over the ground's own to high (red), as pixels. */
  mixDiverging(dark) {
    this.diverging = new Uint32Array(256);
    for (let i = 0; i < 256; i++) {
      const away = i / 127.5 - 1, far = Math.abs(away);
      const lightness = dark ? 0.24 + 0.46 * far : 0.97 - 0.5 * far;
      this.diverging[i] = pixel(oklch(lightness, 0.17 * Math.pow(far, 0.8), away < 0 ? 250 : 28));
    }
    this.missing = pixel(dark ? "#4a4f5c" : "#c9c7c0");
  }

  /** Number in the table of the colour of the cluster with this root, the index-th of the cut. */
  cluster(root, index) {
    return 2 * Math.floor(this.model.hue[root] * HUES) + (index & 1);
  }

  /** Number of the colour of a class of a column. */
  of(column, code) {
    return code < 0 || column.classes[code] === "" ? this.neutral : column.offset + code; // a label without a name is missing
  }

  label(code) {
    return this.of(this.model.columns[0], code);
  }

  /** Number of the colour of a share of the scale, from 0 to 1; NaN has none. */
  step(share) {
    return Number.isFinite(share) ? this.scale + Math.max(0, Math.min(STEPS - 1, Math.floor(share * STEPS))) : this.neutral;
  }

  /** Number of the colour of any node; `index` is that of its cluster, −1 above the cut. */
  node(node, index) {
    const { model, column } = this;
    if (model.isWeak(node)) return this.neutral;
    if (!column) return index < 0 ? this.neutral : this.cluster(model.clusters[index], index);
    if (column.classes) return this.of(column, column.leaders()[node]);
    return this.step(column.share(column.mean(model.first[node], model.first[node] + model.size[node])));
  }

  css(node) {
    return this.table[this.node(node, this.model.clusterOf(node))];
  }
}

/** "#rrggbb" as a pixel of an image. */
function pixel(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}
