/* The tree as arrays, read from the page's data block; nodes 0 … n − 1 are leaves, n + t is merge t, the last is the root. */

function typed(text, Type) {
  if (text === null) return null;
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return new Type(bytes.buffer);
}

/** Format a number with all digits stored in the page; empty if missing. */
function exact(value) {
  return Number.isNaN(value) ? "" : String(parseFloat(value.toPrecision(7)));
}

const NAMED_LEAVES = 50; // above so many, groups have names and not leaves

class Model {
  constructor(data) {
    const n = (this.n = data.n);
    this.nodes = 2 * n - 1;
    this.root = this.nodes - 1;
    this.points = data.points;
    this.title = data.title;
    this.cost = data.cost;
    this.children = typed(data.children, Int32Array);
    this.heights = typed(data.heights, Float64Array);
    this.across = typed(data.across, Float32Array);
    this.palette = data.colours;
    this.zeroIsEqual = data.zeroIsEqual; // whether merges at height 0 are of equal points
    this.edgesAlone = data.edgesAlone; // whether that is the neighbour graph's share
    this.support = typed(data.support, Float32Array);
    this.least = 0; // clusters with less support are drawn faint
    this.rows = typed(data.rows, Int32Array);
    this.rowsFrom = data.rowsFrom;
    this.names = data.names;
    this.texts = data.texts;
    this.nodeNames = data.nodeNames; // of merges, in their order; empty where there is none
    this.labelNames = data.labels ? data.labels.names : null;
    this.labels = data.labels ? typed(data.labels.codes, Int32Array) : null;
    this.featureNames = data.features ? data.features.names : null;
    this.features = data.features ? typed(data.features.values, Float32Array) : null;
    this.featureOrder = data.features ? typed(data.features.order, Int32Array) : null;
    this.differences = data.differences;
    this.sprite = data.sprite;
    this.opening = data.opening;
    this.cuts = data.cuts;
    this.fewest = data.fewest; // least number of clusters that the constraints allow, and which merges they undo first
    this.most = data.most;
    this.turns = typed(data.turns, Int32Array);
    this.larger = typed(data.larger, Int32Array); // which child of each merge has more points, 0 or 1: where it is given, parts join
    this.splits = data.splits; // so many of the first turns are splits of the condensed tree, the highest first
    this.found = data.found; // number of clusters found by the fit, null if it was given
    if (this.larger) this.firstTurn = this.firstTurns();
    this.why = data.why; // rule that found the number of clusters
    this.pValues = typed(data.pValues, Float32Array); // of merges, NaN where one is no split
    this.labelsOutliers = data.labelsOutliers; // whether points that joined a cluster from above its core are outliers instead
    this.aboveCut = new Uint8Array(this.nodes);
    this.above = [];
    this.measure(typed(data.weights, Float64Array));
    this.place(typed(data.angles, Float64Array), typed(data.depths, Float32Array));
    this.orderLeaves();
    this.columns = columnsOf(this, data);
  }

  name(leaf) {
    return this.names ? this.names[leaf] : String(this.row(leaf));
  }

  /** Return the text of a leaf, or an empty one. */
  text(leaf) {
    return this.texts?.[leaf] ?? "";
  }

  /** Return whether groups have names around the disk and below the dendrogram, and not leaves. */
  namesGroups() {
    return Boolean(this.nodeNames) && this.n > NAMED_LEAVES;
  }

  /**
   * Abbreviate the name of a group: its first terms, as many as have room, with an ellipsis at the end. Of a first term that is
   * longer the last word stays, as it says "high" or "low".
   */
  shortGroupName(node, most) {
    const name = this.groupName(node);
    if (name.length <= most) return name;
    const end = name.lastIndexOf(", ", most - 1);
    if (end > 0) return name.slice(0, end) + "…";
    const first = name.split(", ")[0], side = first.slice(Math.max(first.lastIndexOf(" "), 0));
    if (side.length === first.length || side.length + 4 > most) return name.slice(0, most - 1).trimEnd() + "…";
    const more = name.length > first.length ? "…" : "";
    return first.slice(0, most - side.length - more.length - 1).trimEnd() + "…" + side + more;
  }

  /** Return the name of a group, or an empty text. */
  groupName(node) {
    return (node >= this.n && this.nodeNames?.[node - this.n]) || "";
  }

  row(leaf) {
    return this.rowsFrom + (this.rows ? this.rows[leaf] : leaf);
  }

  label(leaf) {
    return (this.labels && this.labelNames[this.labels[leaf]]) ?? "";
  }

  height(node) {
    return node < this.n ? 0 : this.heights[node - this.n];
  }

  /** Return the support of a node, from 0 to 1: 1 for leaves and trees without support, 0 where it is unknown. */
  sure(node) {
    if (!this.support || node < this.n) return 1;
    return this.support[node - this.n] || 0;
  }

  isWeak(node) {
    return this.sure(node) < this.least;
  }

  /** Return by how many steps a branch is drawn wider or thinner for its support. */
  emphasis(node) {
    if (!this.support || node < this.n) return 0;
    return this.sure(node) >= 0.95 ? 1 : this.sure(node) < 0.5 ? -1 : 0;
  }

  left(node) {
    return this.children[2 * (node - this.n)];
  }

  right(node) {
    return this.children[2 * (node - this.n) + 1];
  }

  /** Compute the numbers of leaves and of points below each node, parents, and the representative leaf of each cluster. */
  measure(weights) {
    const { n, nodes, children } = this;
    this.size = new Int32Array(nodes).fill(1, 0, n);
    this.weight = new Float64Array(nodes).fill(1, 0, n);
    if (weights) this.weight.set(weights);
    this.heaviest = this.weight.subarray(0, n).reduce((a, b) => Math.max(a, b), 0);
    this.parent = new Int32Array(nodes).fill(-1);
    this.standIn = new Int32Array(nodes);
    this.smallest = new Int32Array(nodes);
    for (let i = 0; i < n; i++) this.standIn[i] = this.smallest[i] = i;
    // The priority of a leaf is the size of the largest cluster that it represents.
    this.rank = new Int32Array(n).fill(1);
    for (let v = n; v < nodes; v++) {
      const a = children[2 * (v - n)], b = children[2 * (v - n) + 1];
      this.size[v] = this.size[a] + this.size[b];
      this.weight[v] = this.weight[a] + this.weight[b];
      this.parent[a] = this.parent[b] = v;
      this.standIn[v] = this.standIn[this.size[a] >= this.size[b] ? a : b];
      this.rank[this.standIn[v]] = this.size[v];
      this.smallest[v] = Math.min(this.smallest[a], this.smallest[b]);
    }
  }

  /** Compute the arc of each cluster on the circle, and the position of its node: the LCA of the arc's quartile points. */
  place(angles, depths) {
    const { n, nodes, children } = this;
    this.lo = new Float64Array(nodes);
    this.hi = new Float64Array(nodes);
    this.lo.set(angles);
    this.hi.set(angles);
    this.depth = new Float64Array(nodes);
    for (let v = n; v < nodes; v++) {
      let a = children[2 * (v - n)], b = children[2 * (v - n) + 1];
      if (this.lo[b] < this.lo[a]) {
        children[2 * (v - n)] = b;
        children[2 * (v - n) + 1] = a;
        [a, b] = [b, a];
      }
      this.lo[v] = this.lo[a];
      this.hi[v] = Math.max(this.hi[a], this.hi[b]);
      this.depth[v] = lcaDepth((this.hi[v] - this.lo[v]) / 2);
    }
    if (depths) this.depth.set(depths);
    else this.spreadLeaves(angles);
    this.angle = this.lo.map((lo, v) => (lo + this.hi[v]) / 2);
    this.grown = this.depth.map(Math.sinh);
    this.faded = this.depth.map((d) => Math.exp(-d));
  }

  /** Move leaves of one radius outwards until they are clear of their neighbours and of their parent. */
  spreadLeaves(angles) {
    const { n } = this;
    const order = Int32Array.from(angles.keys()).sort((i, j) => angles[i] - angles[j]);
    for (let k = 0; k < n; k++) {
      const here = angles[order[k]];
      const next = k + 1 < n ? angles[order[k + 1]] : angles[order[0]] + TAU;
      const last = k > 0 ? angles[order[k - 1]] : angles[order[n - 1]] - TAU;
      const clear = n > 1 ? lcaDepth(Math.min(next - here, here - last) / 2) : 0;
      const above = n > 1 ? this.depth[this.parent[order[k]]] + 1 : 0;
      this.depth[order[k]] = Math.min(MAX_DEPTH, Math.max(clear, above));
    }
  }

  /** Compute the position of each cluster's first leaf from left to right, and the leaves in that order. */
  orderLeaves() {
    const { n, nodes, children } = this;
    this.first = new Int32Array(nodes);
    for (let v = nodes - 1; v >= n; v--) {
      const a = children[2 * (v - n)], b = children[2 * (v - n) + 1];
      this.first[a] = this.first[v];
      this.first[b] = this.first[v] + this.size[a];
    }
    this.order = new Int32Array(n);
    for (let i = 0; i < n; i++) this.order[this.first[i]] = i;
  }

  /** Return a class of the labels as text. */
  labelName(code) {
    return code < 0 ? "missing" : this.labelNames[code];
  }

  /** Return the leaves of a cluster, from left to right. */
  leaves(node) {
    return this.order.subarray(this.first[node], this.first[node] + this.size[node]);
  }

  isWithin(node, ancestor) {
    const at = this.first[node] - this.first[ancestor];
    return node <= ancestor && at >= 0 && at < this.size[ancestor];
  }

  /** Return the cut into k clusters, as Tree.cut does: their roots from left to right. */
  cut(k) {
    this.k = k;
    const byPlace = (a, b) => this.first[a[0]] - this.first[b[0]];
    // [node, core of its cluster]: a cluster is its core and the parts that fell out above it and joined it
    const parts = (this.larger ? this.partsJoined() : this.rootsOf(k).map((v) => [v, v])).sort(byPlace);
    this.clusters = parts.filter(([node, core]) => node === core).map(([node]) => node);
    const index = new Map(this.clusters.map((core, at) => [core, at]));
    this.parts = Int32Array.from(parts, ([node]) => node);
    this.starts = this.parts.map((v) => this.first[v]);
    this.clusterOfPart = Int32Array.from(parts, ([, core]) => index.get(core));
    this.markAbove();
    this.describeClusters();
    this.shareColours();
    return this.clusters;
  }

  rootsOf(k) {
    return k in this.cuts ? Array.from(typed(this.cuts[k], Int32Array)) : this.lastMergesUndone(k);
  }

  /** Compute the points of each cluster, and its label, the rank of its smallest leaf, as in Tree.cut. */
  describeClusters() {
    this.clusterWeight = new Float64Array(this.k);
    this.coreWeight = this.clusters.map((v) => this.weight[v]);
    const smallest = new Float64Array(this.k).fill(Infinity);
    this.parts.forEach((v, at) => {
      const cluster = this.clusterOfPart[at];
      this.clusterWeight[cluster] += this.weight[v];
      smallest[cluster] = Math.min(smallest[cluster], this.smallest[v]);
    });
    this.numbers = new Int32Array(this.k);
    Array.from(smallest.keys()).sort((a, b) => smallest[a] - smallest[b]).forEach((index, rank) => (this.numbers[index] = rank));
  }

  /** Compute the first turn in which a merge at or below each node is undone. */
  firstTurns() {
    const first = new Int32Array(this.nodes).fill(2147483647);
    for (let v = this.n; v <= this.root; v++) first[v] = Math.min(this.turns[v - this.n], first[this.left(v)], first[this.right(v)]);
    return first;
  }

  /** Return the clusters below the merges of the first k − 1 turns, as Tree.cut does: where a merge above one is kept, its smaller side
   * joins the cluster that the larger one leads to. */
  partsJoined() {
    const { k, turns } = this;
    const contains = (v) => this.firstTurn[v] < k - 1;
    const sides = (v) => (this.larger[v - this.n] ? [this.right(v), this.left(v)] : [this.left(v), this.right(v)]);
    const coreOf = (v) => {
      while (contains(v)) v = sides(v)[0];
      return v;
    };
    const parts = [], waiting = [this.root];
    while (waiting.length) {
      const v = waiting.pop();
      if (!contains(v)) {
        parts.push([v, v]);
        continue;
      }
      const [large, small] = sides(v);
      waiting.push(large);
      if (turns[v - this.n] < k - 1) waiting.push(small);
      else parts.push([small, coreOf(large)]);
    }
    return parts;
  }

  /** Return the colour index of each cluster; of many clusters only the largest have one (−1: none), as in the plots. */
  shareColours() {
    const byNumber = new Int32Array(this.k);
    this.numbers.forEach((number, index) => (byNumber[number] = index));
    const weight = (index) => this.clusterWeight[index];
    const largest = Array.from(byNumber).sort((a, b) => weight(b) - weight(a) || this.numbers[a] - this.numbers[b]).slice(0, this.palette.clusters.light.length);
    this.slots = new Int32Array(this.k).fill(-1);
    largest.sort((a, b) => this.numbers[a] - this.numbers[b]).forEach((index, slot) => (this.slots[index] = slot));
  }

  lastMergesUndone(k) {
    const undone = (v) => v >= this.n && (this.turns ? this.turns[v - this.n] : this.root - v) < k - 1;
    const roots = k === 1 ? [this.root] : [];
    for (let v = this.root; v >= (this.turns ? this.n : 2 * this.n - k); v--) {
      if (undone(v)) for (const child of [this.left(v), this.right(v)]) if (!undone(child)) roots.push(child);
    }
    return roots;
  }

  /** Return the nodes above the parts of the cut: one less than there are parts. */
  markAbove() {
    for (const v of this.above) this.aboveCut[v] = 0;
    this.above = [];
    for (const root of this.parts) {
      for (let v = this.parent[root]; v >= 0 && !this.aboveCut[v]; v = this.parent[v]) {
        this.aboveCut[v] = 1;
        this.above.push(v);
      }
    }
  }

  /** Return the cluster of the current cut, from left to right, that contains a node; −1 for a node above the cut. */
  clusterOf(node) {
    return this.aboveCut[node] ? -1 : this.clusterOfPart[this.partOf(node)];
  }

  /** Return the part of the current cut, from left to right, that contains a node below the cut. */
  partOf(node) {
    let low = 0, high = this.starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] <= this.first[node]) low = middle;
      else high = middle;
    }
    return low;
  }

  /** Return whether a node fell out above the core of the cluster that it joined. */
  hasJoined(node) {
    if (this.aboveCut[node] || this.parts.length === this.clusters.length) return false;
    const part = this.partOf(node);
    return this.parts[part] !== this.clusters[this.clusterOfPart[part]];
  }

  /** Return whether a node is shown as outliers. */
  isOutlier(node) {
    return this.labelsOutliers && this.hasJoined(node);
  }

  /** Return how many points a cluster of the cut has, without outliers where these are labelled. */
  clusterPoints(index) {
    return this.labelsOutliers ? this.coreWeight[index] : this.clusterWeight[index];
  }

  /** Return how many points fell out above the cores of the clusters that they joined. */
  joined() {
    return this.parts.reduce((sum, v) => sum + (this.hasJoined(v) ? this.weight[v] : 0), 0);
  }

  /** Count the points of a cluster by label: [[label, points], …], most frequent first; −1 is a missing one. */
  labelCounts(node) {
    if (!this.labels) return [];
    const counts = new Float64Array(this.labelNames.length + 1);
    for (const leaf of this.leaves(node)) counts[this.labels[leaf] + 1] += this.weight[leaf];
    const present = Array.from(counts, (count, at) => [at - 1, count]).filter((pair) => pair[1] > 0);
    return present.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  }

  /** Return the mean of each feature over a cluster's points, missing values left out. */
  featureMeans(node) {
    const d = this.featureNames.length;
    const sums = new Float64Array(d), weights = new Float64Array(d);
    for (const leaf of this.leaves(node)) {
      for (let j = 0; j < d; j++) {
        const value = this.features[leaf * d + j];
        if (!Number.isFinite(value)) continue;
        sums[j] += this.weight[leaf] * value;
        weights[j] += this.weight[leaf];
      }
    }
    return sums.map((sum, j) => sum / weights[j]);
  }

  /** Return the standard deviation of each feature over all points, 1 where there is none. */
  featureScales() {
    if (this.scales) return this.scales;
    const d = this.featureNames.length;
    const means = this.featureMeans(this.root);
    const sums = new Float64Array(d), weights = new Float64Array(d);
    for (let i = 0; i < this.n; i++) {
      for (let j = 0; j < d; j++) {
        const away = this.features[i * d + j] - means[j];
        if (!Number.isFinite(away)) continue;
        sums[j] += this.weight[i] * away * away;
        weights[j] += this.weight[i];
      }
    }
    this.scales = sums.map((sum, j) => Math.sqrt(sum / weights[j]) || 1);
    return this.scales;
  }

  /** Return the features in which a cluster differs most from the rest, or its two parts ("parts") from each other, as
   * hyphc.differences finds them: [[feature, effect, sure], …]. */
  differing(node, compare) {
    if (!this.differences || node < this.n) return [];
    const found = this.differences[compare];
    found.read ??= { columns: typed(found.columns, Int32Array), effects: typed(found.effects, Float32Array), sure: typed(found.sure, Uint8Array) };
    const rows = [];
    for (let k = 0; k < found.top; k++) {
      const at = (node - this.n) * found.top + k;
      if (found.read.columns[at] >= 0) rows.push([found.read.columns[at], found.read.effects[at], found.read.sure[at] === 1]);
    }
    return rows;
  }

  /** Return the mean of one feature over a cluster's points. */
  featureMean(node, j) {
    return featureColumn(this, j).mean(this.first[node], this.first[node] + this.size[node]);
  }

  /** Abbreviate the name of a leaf: what all names begin with is left out where one is too long, and then the end, the middle or the
   * beginning, whichever keeps most names distinct. */
  shortName(leaf, most) {
    const name = this.ownName(leaf, most);
    if (name.length <= most) return name;
    return this.wayToShorten(most)(name);
  }

  /** Return the name of a leaf without what all names begin with, where a name is longer than `most`. */
  ownName(leaf, most) {
    if (!this.names) return this.name(leaf);
    this.longest ??= this.names.reduce((longest, name) => Math.max(longest, name.length), 0);
    return this.longest > most ? this.names[leaf].slice(this.prefix().length) : this.names[leaf];
  }

  /** Return what all names begin with, up to a separator; an empty text where it is shorter than 4 letters. */
  prefix() {
    if (this.common !== undefined) return this.common;
    let [common, ...others] = this.names?.length > 2 ? this.names : [""];
    for (const name of others) while (!name.startsWith(common)) common = common.slice(0, -1);
    if (others.some((name) => name === common)) common = common.slice(0, -1); // of no name all is left out
    common = common.replace(/[^\s_.:/|-]*$/, "");
    return (this.common = common.length < 4 ? "" : common);
  }

  /** Return the width of a letter as a share of the font size: the 95 % quantile over names. */
  letterWidth() {
    if (this.letterShare) return this.letterShare;
    const some = (this.names ?? this.nodeNames).filter((name, i) => name && i % Math.ceil(this.n / 500) === 0);
    const shares = some.map((name) => textWidth(name, 100) / (100 * name.length)).sort((a, b) => a - b);
    return (this.letterShare = shares[Math.floor(0.95 * (shares.length - 1))] ?? 0.6);
  }

  wayToShorten(most) {
    this.ways ??= new Map();
    if (this.ways.has(most)) return this.ways.get(most);
    const head = Math.floor(most / 2) - 1, tail = most - 1 - head;
    const ways = [
      (name) => name.slice(0, most - 1) + "…",
      (name) => name.slice(0, head) + "…" + name.slice(-tail),
      (name) => "…" + name.slice(1 - most),
    ];
    const long = [];
    for (let i = 0; i < this.n && long.length < 5000; i++) if (this.ownName(i, most).length > most) long.push(this.ownName(i, most));
    const told = ways.map((way) => new Set(long.map(way)).size);
    const best = ways[told.indexOf(Math.max(...told))];
    this.ways.set(most, best);
    return best;
  }

  /** Return the members of a cluster as CSV text. */
  csv(node) {
    const grouped = this.points > this.n;
    const others = this.columns.slice(this.labels ? 1 : 0);
    const header = ["row", "name", ...(this.labels ? ["label"] : []), "cluster", ...(grouped ? ["points"] : []), ...others.map((column) => column.name), ...(this.featureNames || [])];
    const quote = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
    // a spreadsheet would evaluate text that begins so as a formula; numbers stay numbers
    const inert = (text) => (/^[=+\-@\t\r]/.test(text) && !(text.trim() && Number.isFinite(Number(text))) ? `'${text}` : text);
    const lines = [header.map(inert).map(quote).join(",")];
    const d = this.featureNames ? this.featureNames.length : 0;
    for (const leaf of this.leaves(node)) {
      const cells = [String(this.row(leaf)), inert(this.name(leaf))];
      if (this.labels) cells.push(inert(this.label(leaf)));
      cells.push(String(this.isOutlier(leaf) ? -1 : this.numbers[this.clusterOf(leaf)]));
      if (grouped) cells.push(String(this.weight[leaf]));
      for (const column of others) cells.push(column.values ? exact(column.values[leaf]) : column.classes[column.codes[leaf]] ?? "");
      for (let j = 0; j < d; j++) {
        const value = this.features[leaf * d + j];
        cells.push(exact(value));
      }
      lines.push(cells.map(quote).join(","));
    }
    return lines.join("\r\n") + "\r\n";
  }
}
