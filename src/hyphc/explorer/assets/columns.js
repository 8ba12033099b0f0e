/* Metadata of the leaves: categorical or numeric columns, each of which can colour the tree. */

class Column {
  /** `field` has a name, and names with codes (−1 is missing), or values (NaN is missing), by leaf. */
  constructor(model, field) {
    this.model = model;
    this.name = field.name;
    this.classes = field.names || null;
    this.codes = field.codes || null;
    this.values = field.values || null;
    this.colours = field.colours; // on light and on dark ground: of the classes, or from the smallest number to the largest
    this.steps = field.colours.light.length;
    this.offset = null; // of its colours in the table
  }

  /** Compute cumulative sums and counts over the leaves from left to right, for means of any run of leaves. */
  sums() {
    if (this.before) return this;
    const { n, order, weight } = this.model;
    this.before = new Float64Array(n + 1);
    this.counted = new Float64Array(n + 1);
    this.low = Infinity;
    this.high = -Infinity;
    for (let p = 0; p < n; p++) {
      const value = this.values[order[p]], known = Number.isFinite(value);
      this.before[p + 1] = this.before[p] + (known ? weight[order[p]] * value : 0);
      this.counted[p + 1] = this.counted[p] + (known ? weight[order[p]] : 0);
      if (known && value < this.low) this.low = value;
      if (known && value > this.high) this.high = value;
    }
    return this;
  }

  /** Return the mean of the leaves from position `from` to before `to`; NaN if all values are missing. */
  mean(from, to) {
    this.sums();
    return (this.before[to] - this.before[from]) / (this.counted[to] - this.counted[from]);
  }

  /** Return the number of points without a value from position `from` to before `to`. */
  missing(from = 0, to = this.model.n) {
    const { order, weight } = this.model, lacks = (leaf) => (this.values ? !Number.isFinite(this.values[leaf]) : this.codes[leaf] < 0);
    let count = 0;
    for (let p = from; p < to; p++) if (lacks(order[p])) count += weight[order[p]];
    return count;
  }

  /** Return a value rescaled to [0, 1] between the minimum and the maximum. */
  share(value) {
    this.sums();
    return this.high > this.low ? (value - this.low) / (this.high - this.low) : 0.5;
  }

  /** Compute the majority class of each cluster by Boyer and Moore's vote; −1 where it is close to a draw. */
  leaders() {
    if (this.lead) return this.lead;
    const { n, nodes, children, weight } = this.model;
    const lead = new Int32Array(nodes), ahead = new Float64Array(nodes);
    for (let i = 0; i < n; i++) {
      lead[i] = this.codes[i];
      ahead[i] = weight[i];
    }
    for (let v = n; v < nodes; v++) {
      const a = children[2 * (v - n)], b = children[2 * (v - n) + 1];
      lead[v] = ahead[a] >= ahead[b] ? lead[a] : lead[b];
      ahead[v] = lead[a] === lead[b] ? ahead[a] + ahead[b] : Math.abs(ahead[a] - ahead[b]);
    }
    for (let v = n; v < nodes; v++) if (ahead[v] < 0.1 * weight[v]) lead[v] = -1;
    return (this.lead = lead);
  }

  /** Return the most frequent class of a run of leaves. */
  commonest(from, to) {
    const { order, weight } = this.model;
    if (to - from === 1) return this.codes[order[from]];
    this.votes ??= new Float64Array(this.classes.length + 1);
    let best = -1;
    for (let p = from; p < to; p++) {
      const code = this.codes[order[p]] + 1;
      this.votes[code] += weight[order[p]];
      if (best < 0 || this.votes[code] > this.votes[best]) best = code;
    }
    for (let p = from; p < to; p++) this.votes[this.codes[order[p]] + 1] = 0;
    return best - 1;
  }

  /** Count the points of each class in a run of leaves, missing last; the array is reused. */
  counts(from, to) {
    const { order, weight } = this.model, m = this.classes.length;
    this.held ??= new Float64Array(m + 1);
    this.held.fill(0);
    for (let p = from; p < to; p++) this.held[this.codes[order[p]] < 0 ? m : this.codes[order[p]]] += weight[order[p]];
    return this.held;
  }

  /** Describe a run of leaves in this column: the mean or the most frequent class, and the number of missing values. */
  told(from, to) {
    const { order } = this.model, missing = this.missing(from, to);
    let points = 0;
    for (let p = from; p < to; p++) points += this.model.weight[order[p]];
    if (missing === points) return "missing";
    const code = this.classes ? this.commonest(from, to) : 0;
    const value = this.values ? short(this.mean(from, to)) : code < 0 ? "missing" : this.classes[code] || "(empty)";
    return missing && code >= 0 ? `${value} (missing in ${number(missing)} of ${number(points)})` : value;
  }
}

/** Return the columns of the page: labels first, then annotations; features become columns when they are chosen. */
function columnsOf(model, data) {
  const columns = [];
  if (data.labels) columns.push(new Column(model, { name: data.labels.name, names: data.labels.names, codes: model.labels, colours: data.labels.colours }));
  for (const field of data.annotations) {
    const codes = field.codes === undefined ? null : typed(field.codes, Int32Array);
    const values = field.values === undefined ? null : typed(field.values, Float32Array);
    columns.push(new Column(model, { name: field.name, names: field.names, codes, values, colours: field.colours }));
  }
  return columns;
}

/** Return a feature as a column. */
function featureColumn(model, j) {
  model.featureColumns ??= [];
  const d = model.featureNames.length;
  return (model.featureColumns[j] ??= new Column(model, { name: model.featureNames[j], colours: model.palette.features, values: Float32Array.from({ length: model.n }, (_, i) => model.features[i * d + j]) }));
}
