/* The disk unrolled: which pixel from left to right shows which leaf, the same for dendrogram, strips and heat map. */

class Across {
  constructor(model) {
    this.model = model;
    const { n, order, lo } = model;
    // A leaf's cell ends half way to the next leaf.
    this.edges = new Float64Array(n + 1);
    for (let p = 1; p < n; p++) this.edges[p] = (lo[order[p - 1]] + lo[order[p]]) / 2;
    const first = lo[order[0]], last = lo[order[n - 1]];
    this.edges[0] = n > 1 ? 2 * first - this.edges[1] : first - 1;
    this.edges[n] = n > 1 ? 2 * last - this.edges[n - 1] : last + 1;
  }

  /** Lay the view out between two margins. */
  lay(view, width, left, right) {
    Object.assign(this, { view, left, right: width - right });
    this.start = view.boundary(this.edges[0]);
    this.end = view.boundary(this.edges[this.model.n]);
  }

  x(psi) {
    return this.left + ((psi - this.start) / (this.end - this.start)) * (this.right - this.left);
  }

  /** Position of the leaf whose cell holds the pixel. */
  at(x, low = 0) {
    const psi = this.start + ((x - this.left) / (this.right - this.left)) * (this.end - this.start);
    let high = this.model.n;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.view.boundary(this.edges[middle]) <= psi) low = middle;
      else high = middle;
    }
    return low;
  }

  /** Of each pixel, the first of its leaves; and one number more, where the last ends. */
  cells() {
    const width = Math.max(1, Math.round(this.right - this.left));
    const cells = new Int32Array(width + 1);
    for (let i = 0; i < width; i++) cells[i] = this.at(this.left + i + 0.5, i ? cells[i - 1] : 0);
    cells[width] = this.model.n;
    return cells;
  }

  /** Leaves with room for a name, [position, x], from left to right. */
  roomy(least) {
    const found = [];
    const { n } = this.model;
    for (let p = this.at(this.left); p <= this.at(this.right) && p < n; ) {
      const from = this.x(this.view.boundary(this.edges[p])), to = this.x(this.view.boundary(this.edges[p + 1]));
      if (to - from >= least) found.push([p, (from + to) / 2]);
      // Cells too narrow for a name are passed over a pixel's worth at a time.
      p = to - from >= 1 ? p + 1 : Math.max(p + 1, this.at(from + 1, p));
    }
    return found;
  }
}
