/* Horizontal positions of leaves, each as wide as its number of points, shared by dendrogram, strips and heat map. The pane shows
 * the leaves of the arc in the middle of the disk: all of them at the start, those of a cluster when it is centred. */

const MARGIN = 0.06; // of the width: margin for neighbouring leaves on either side of a centred cluster

class Across {
  constructor(model) {
    this.model = model;
    const { n, order, lo, weight } = model;
    this.ends = new Float64Array(n + 1); // points before each leaf
    this.angles = new Float64Array(n); // of the leaves; where an embedding does not follow the tree, the largest so far
    for (let p = 0; p < n; p++) {
      this.ends[p + 1] = this.ends[p] + weight[order[p]];
      this.angles[p] = p ? Math.max(this.angles[p - 1], lo[order[p]]) : lo[order[p]];
    }
  }

  /** Lay the leaves in view out between two margins. */
  lay(view, width, left, right) {
    const total = this.ends[this.model.n];
    const [from, to] = this.arc(view);
    const low = this.points(from, false), high = this.points(to, true), spare = MARGIN * (high - low);
    Object.assign(this, { left, right: width - right, low: Math.max(0, low - spare), high: Math.min(total, high + spare) });
  }

  /** Return the arc whose middle is in the centre of the disk: a cluster of a radians is centred at depth −log tan(a / 8). */
  arc(view) {
    const { angle, lo, hi, root } = this.model;
    const half = 4 * Math.atan(1 / view.scale);
    const middle = view.alpha + TAU * Math.round((angle[root] - view.alpha) / TAU);
    return [Math.min(Math.max(middle - half, lo[root]), hi[root]), Math.max(Math.min(middle + half, hi[root]), lo[root])];
  }

  /** Return the points to the left of an angle, interpolated between leaves: up to the leaf's end, or to its beginning. */
  points(angle, end) {
    const { angles, ends } = this, { n } = this.model;
    const reach = 1e-13 * (1 + Math.abs(angle)); // rounding
    let low = -1, high = n; // angles[low] < angle <= angles[high], or the other way round at equals
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (end ? angles[middle] <= angle + reach : angles[middle] < angle - reach) low = middle;
      else high = middle;
    }
    if (low < 0) return 0;
    if (high === n) return ends[n];
    const share = Math.max(0, Math.min(1, (angle - angles[low]) / (angles[high] - angles[low] || 1)));
    return end ? ends[low + 1] + share * (ends[high + 1] - ends[high]) : ends[low] + share * (ends[low + 1] - ends[low]);
  }

  /** Return the x coordinate of the boundary after so many points. */
  x(points) {
    return this.left + ((points - this.low) / (this.high - this.low)) * (this.right - this.left);
  }

  /** Return the left and right end of a cluster. */
  from(node) {
    return this.x(this.ends[this.model.first[node]]);
  }

  to(node) {
    return this.x(this.ends[this.model.first[node] + this.model.size[node]]);
  }

  /** Return the position of the leaf at a pixel. */
  at(x, low = 0) {
    const points = this.low + ((x - this.left) / (this.right - this.left)) * (this.high - this.low);
    let high = this.model.n;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.ends[middle] <= points) low = middle;
      else high = middle;
    }
    return low;
  }

  /** Return the first leaf of each pixel, and one more number, where the last ends. */
  cells() {
    const width = Math.max(1, Math.round(this.right - this.left));
    const cells = new Int32Array(width + 1);
    for (let i = 0; i < width; i++) cells[i] = this.at(this.left + i + 0.5, i ? cells[i - 1] : 0);
    cells[width] = this.at(this.right - 1e-6, cells[width - 1]) + 1;
    return cells;
  }

  /** Return the leaves in view with room for a name, [position, x], from left to right. */
  roomy(least) {
    const found = [], last = this.at(this.right - 1e-6);
    if (((this.high - this.low) / (this.right - this.left)) * least > this.model.heaviest) return found;
    for (let p = this.at(this.left); p <= last; p++) {
      const from = this.x(this.ends[p]), to = this.x(this.ends[p + 1]), middle = (from + to) / 2;
      if (to - from >= least && middle >= this.left && middle <= this.right) found.push([p, middle]);
    }
    return found;
  }

  /** Return the leaves in view. */
  shown() {
    return this.at(this.right - 1e-6) + 1 - this.at(this.left);
  }
}
