/* Below the dendrogram: strips of annotations, and the features as a heat map. A pixel shows the mean of its leaves, found from
 * sums of all leaves before it, so the work of a frame grows with the pixels and not with the leaves. Where a pixel holds several
 * leaves, a strip of classes stacks their colours by their shares. */

const STRIP = 12;
const ENDS = 2.5; // standard deviations at which the colours end
const MOST_ROWS = 2000; // features shown; of more, every second, third, … of them in order

class Heatmap {
  constructor(canvas, model, colours, across) {
    Object.assign(this, { canvas, model, colours, across });
    this.shown = false; // the features; strips are always shown
    this.image = document.createElement("canvas");
    const order = Array.from(model.featureOrder ?? []), step = Math.ceil(order.length / MOST_ROWS);
    this.listed = order.filter((_, r) => r % step === 0);
  }

  /** Compute the height of strips, features and names, within the available height. */
  wanted(stage) {
    const { model } = this;
    this.strips = model.columns.length ? model.columns.length * STRIP + 4 : 0;
    const room = Math.max(0, 0.36 * stage - this.strips);
    this.rows = this.shown ? Math.round(Math.min(room, Math.max(40, this.listed.length * 14))) : 0;
    return this.strips || this.rows ? this.strips + this.rows + 6 : 0;
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas.parentElement;
    if (!clientHeight) return;
    fit(this.canvas);
    this.width = clientWidth;
    this.height = clientHeight;
  }

  draw() {
    if (!this.strips && !this.rows) return;
    const ctx = this.canvas.getContext("2d");
    ctx.clearRect(0, 0, this.width, this.height);
    this.paint(ctx);
  }

  paint(ctx) {
    const cells = this.across.cells();
    this.model.columns.forEach((column, k) => this.paintStrip(ctx, column, cells, 2 + k * STRIP));
    if (this.rows) this.paintFeatures(ctx, cells, 2 + this.strips);
  }

  paintStrip(ctx, column, cells, y) {
    const { colours, across } = this, width = cells.length - 1, rows = STRIP - 2;
    const pixels = new Uint32Array(width * rows);
    if (column.values) this.fillNumbers(pixels, column, cells, width, rows);
    else this.fillShares(pixels, column, cells, width, rows);
    this.put(ctx, pixels, width, rows, across.left, y, rows, false);
    this.write(ctx, column.name, y + STRIP / 2 - 1, colours.muted);
  }

  fillNumbers(pixels, column, cells, width, rows) {
    const { colours } = this;
    for (let i = 0; i < width; i++) {
      const colour = pixel(colours.table[colours.step(column, column.mean(cells[i], Math.max(cells[i] + 1, cells[i + 1])))]);
      for (let r = 0; r < rows; r++) pixels[r * width + i] = colour;
    }
  }

  /** Fill columns of pixels with classes from top to bottom, in proportion to their shares; rounding is dithered over pixels. */
  fillShares(pixels, column, cells, width, rows) {
    const { colours } = this, m = column.classes.length;
    const shades = Uint32Array.from({ length: m + 1 }, (_, code) => pixel(colours.table[colours.of(column, code < m ? code : -1)]));
    for (let i = 0; i < width; i++) {
      const from = cells[i], to = Math.max(from + 1, cells[i + 1]);
      const counts = column.counts(from, to), total = counts.reduce((a, b) => a + b, 0);
      const shift = (i * 0.618034) % 1;
      for (let r = 0, code = 0, upTo = counts[0]; r < rows; r++) {
        while (upTo <= ((r + shift) / rows) * total && code < m) upTo += counts[++code];
        pixels[r * width + i] = shades[code];
      }
    }
  }

  /** Draw pixels, width × rows, into a box that is `high` pixels high. */
  put(ctx, pixels, width, rows, x, y, high, smooth) {
    const { image } = this;
    if (image.width !== width || image.height !== rows) {
      image.width = width;
      image.height = rows;
    }
    const to = image.getContext("2d"), data = to.createImageData(width, rows);
    new Uint32Array(data.data.buffer).set(pixels);
    to.putImageData(data, 0, 0);
    ctx.imageSmoothingEnabled = smooth;
    ctx.drawImage(image, x, y, width, high);
    ctx.imageSmoothingEnabled = true;
  }

  /** Return k such that every k-th shown feature has its name drawn. */
  nameStep() {
    return Math.max(1, Math.ceil((11 * this.listed.length) / this.rows));
  }

  /** Describe which features and names are left out. */
  thinned() {
    if (!this.rows) return "";
    const all = this.model.featureNames.length, step = Math.ceil(all / MOST_ROWS);
    const shown = step > 1 ? `every ${ordinal(step)} feature is shown` : "";
    const named = this.nameStep() > 1 ? `every ${ordinal(this.nameStep())} feature name is shown` : "";
    return [shown, named].filter(Boolean).join(" · ");
  }

  /** Draw a name at the left, as long as the margin allows. */
  write(ctx, name, y, colour) {
    ctx.font = `10px ${FONT}`;
    ctx.textBaseline = "middle";
    ctx.textAlign = "right";
    ctx.fillStyle = colour;
    const most = Math.floor((this.across.left - 10) / 6);
    ctx.fillText(name.length > most ? name.slice(0, most - 1) + "…" : name, this.across.left - 6, y);
  }

  paintFeatures(ctx, cells, y) {
    const { model, across } = this;
    const width = cells.length - 1, d = this.listed.length, pixels = new Uint32Array(width * d);
    this.fill(pixels, cells, width);
    this.put(ctx, pixels, width, d, across.left, y, this.rows, this.rows < d);
    const row = this.rows / d, step = this.nameStep();
    for (let r = 0; r < d; r += step) this.write(ctx, model.featureNames[this.listed[r]], y + (r + 0.5) * row, this.colours.muted);
  }

  fill(pixels, cells, width) {
    const { model, colours } = this;
    const { sums, counts, gaps } = this.standardised();
    const n1 = model.n + 1, steps = colours.diverging, missing = pixel(colours.table[colours.missing]);
    for (let r = 0; r < this.listed.length; r++) {
      const base = this.listed[r] * n1;
      for (let i = 0; i < width; i++) {
        const from = cells[i], to = Math.max(from + 1, cells[i + 1]);
        const count = gaps ? counts[base + to] - counts[base + from] : counts[to] - counts[from];
        const mean = (sums[base + to] - sums[base + from]) / count;
        pixels[r * width + i] = count > 0 ? steps[Math.max(0, Math.min(255, Math.round((mean / ENDS + 1) * 127.5)))] : missing;
      }
    }
  }

  /** Return cumulative sums of standardised features over the leaves, feature by feature; computed on first use. */
  standardised() {
    if (this.before) return this.before;
    const { model } = this;
    const { n, order, weight, features } = model, d = model.featureNames.length;
    const means = model.featureMeans(model.root), scales = model.featureScales();
    const gaps = !features.every(Number.isFinite);
    const sums = new Float64Array(d * (n + 1)), counts = new Float64Array(gaps ? d * (n + 1) : n + 1);
    for (let j = 0; j < d; j++) {
      for (let p = 0, at = j * (n + 1); p < n; p++, at++) {
        const z = (features[order[p] * d + j] - means[j]) / scales[j], known = Number.isFinite(z);
        sums[at + 1] = sums[at] + (known ? weight[order[p]] * z : 0);
        if (gaps) counts[at + 1] = counts[at] + (known ? weight[order[p]] : 0);
        else if (j === 0) counts[p + 1] = counts[p] + weight[order[p]];
      }
    }
    return (this.before = { sums, counts, gaps });
  }

  /** Describe the cell under the pointer: the column, and the values of its leaves. */
  told(px, py) {
    const { model, across } = this;
    if (px < across.left || px > across.right) return null;
    const from = across.at(px), to = Math.max(from + 1, across.at(px + 1, from));
    const strip = Math.floor((py - 2) / STRIP);
    if (py < 2 + this.strips) {
      const column = model.columns[strip];
      return column ? `${column.name}: ${column.told(from, to)}` : null;
    }
    const row = Math.floor(((py - 2 - this.strips) / this.rows) * this.listed.length);
    if (!this.rows || row >= this.listed.length) return null;
    const column = featureColumn(model, this.listed[row]);
    return `${column.name}: ${column.told(from, to)}`;
  }
}
