/* Colours of clusters, columns, scales and the heat map: those of the page's data, which Python's palette module assigned. */

class Colours {
  constructor(model) {
    this.model = model;
    this.column = model.labels ? model.columns[0] : null; // null: by cluster
    this.last = model.columns[0] ?? null; // the column that was chosen last
  }

  /** Return "cluster" or "column". */
  get mode() {
    return this.column ? "column" : "cluster";
  }

  by(column) {
    this.column = column;
    if (column) this.last = column;
  }

  /** Read the theme's own colours from the style sheet and put the palettes that go with them into one table. */
  adopt(dark) {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["ink", "muted", "faint", "disk", "accent", "paper", "panel"]) this[name] = style.getPropertyValue("--" + name).trim();
    const theme = dark ? "dark" : "light", { palette } = this.model;
    this.table = palette.clusters[theme].slice();
    const append = (colours) => this.table.push(...colours) - colours.length;
    this.features = append(palette.features[theme]);
    for (const column of this.model.columns) column.offset = append(column.colours[theme]);
    this.others = append(palette.greys[theme]);
    this.missing = this.others + 1;
    this.neutral = append([this.faint]);
    this.diverging = Uint32Array.from(palette.diverging[theme], pixel);
  }

  /** Return the index in the table of the colour of a cluster of the cut. */
  cluster(index) {
    return this.model.slots[index] < 0 ? this.others : this.model.slots[index];
  }

  /** Return the index of the first colour of a column; features share a scale. */
  start(column) {
    return column.offset ?? this.features;
  }

  /** Return the index of the colour of a class of a column. */
  of(column, code) {
    return code < 0 || column.classes[code] === "" ? this.missing : this.start(column) + code; // no name: missing
  }

  label(code) {
    return this.of(this.model.columns[0], code);
  }

  /** Return the colours of a numeric column, from the smallest to the largest value. */
  scale(column) {
    return this.table.slice(this.start(column), this.start(column) + column.steps);
  }

  /** Return the index of the colour of a value of a column; that of missing values for NaN. */
  step(column, value) {
    const share = column.share(value);
    return Number.isFinite(share) ? this.start(column) + Math.max(0, Math.min(column.steps - 1, Math.floor(share * column.steps))) : this.missing;
  }

  /** Return the index of the colour of a node; `index` is that of its cluster, −1 above the cut. */
  node(node, index) {
    const { model, column } = this;
    if (model.isWeak(node) || model.isOutlier(node)) return this.neutral;
    if (!column) return index < 0 ? this.neutral : this.cluster(index);
    const found = column.classes ? this.of(column, column.leaders()[node]) : this.step(column, column.mean(model.first[node], model.first[node] + model.size[node]));
    return found === this.missing ? this.neutral : found;
  }

  css(node) {
    return this.table[this.node(node, this.model.clusterOf(node))];
  }
}

/** Convert "#rrggbb" to a pixel of an image. */
function pixel(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}
