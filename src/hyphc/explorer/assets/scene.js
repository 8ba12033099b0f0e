/* What is visible: the tree walked from the root, no further than a pixel can show.
 *
 * A cluster that is narrower than FINE pixels is one mark, whatever lies below it. So the work of a frame grows with the pixels
 * and not with the number of leaves; only a chain has to be walked along its whole spine. */

const FINE = 1.3;

class Walk {
  constructor(model) {
    this.model = model;
    this.capacity = 0;
    this.count = 0;
    this.reserve(4096);
  }

  reserve(capacity) {
    this.capacity = capacity;
    this.node = this.grow(Int32Array, this.node); // node of each entry; entries are in preorder
    this.above = this.grow(Int32Array, this.above); // entry of its parent, −1 for the root
    this.from = this.grow(Float64Array, this.from); // where it begins and ends
    this.to = this.grow(Float64Array, this.to);
    this.cluster = this.grow(Int32Array, this.cluster); // number of its cluster, −1 above the cut
    this.last = this.grow(Uint8Array, this.last); // 1 when nothing below it is drawn
  }

  grow(Type, old) {
    const array = new Type(this.capacity);
    if (old) array.set(old);
    return array;
  }

  /** Walk the tree down to clusters narrower than `least`, in the units of start(v) and end(v); those not in sight are left out. */
  walk(least) {
    const { model } = this, { n, root } = model;
    this.count = 0;
    this.todo = [root, -1, this.start(root), this.end(root)];
    while (this.todo.length) {
      const to = this.todo.pop(), from = this.todo.pop(), up = this.todo.pop(), v = this.todo.pop();
      const last = v < n || to - from < least;
      if (!last && up >= 0 && this.hardlyDiffers(v, up, from, to, least / 2)) {
        this.descend(v, up);
        continue;
      }
      this.add(v, up, from, to, last);
      if (!last) this.descend(v, this.count - 1);
      else this.finish(this.count - 1);
    }
  }

  /** Push the children of v on the stack, below entry i. */
  descend(v, i) {
    for (const child of [this.model.right(v), this.model.left(v)]) {
      const from = this.start(child), to = this.end(child);
      if (this.inSight(from, to)) this.todo.push(child, i, from, to);
    }
  }

  /** Return the named clusters of the cut that are in sight, the largest first, then the named parts of wide clusters that are narrower
   * than `most`, in the units of start(v), and not much narrower. */
  namedGroups(most) {
    const { model, node, above, from, to, cluster } = this;
    const clusters = [], parts = [];
    for (let i = 1; i < this.count; i++) {
      if (cluster[i] < 0 || !model.groupName(node[i])) continue;
      if (node[i] === model.clusters[cluster[i]]) clusters.push(node[i]);
      else if (to[i] - from[i] < most && to[i] - from[i] > most / 8 && to[above[i]] - from[above[i]] >= most && !model.hasJoined(node[i])) parts.push(node[i]);
    }
    const largest = (a, b) => model.weight[b] - model.weight[a] || a - b;
    return [...clusters.sort(largest), ...parts.sort(largest)];
  }

  inSight() {
    return true;
  }

  finish() {}

  /** Return whether v has the position and the cluster of the entry above it, as along the spine of a chain. */
  hardlyDiffers(v, up, from, to, least) {
    const { aboveCut, heights, n } = this.model;
    if (!aboveCut[v] && this.cluster[up] < 0) return false;
    if (from - this.from[up] > least || this.to[up] - to > least) return false;
    const above = this.node[up];
    if (Math.log((2 * n - 1 - v) / (2 * n - 1 - above)) > 0.004 * Math.log(n)) return false;
    return heights[above - n] - heights[v - n] < 0.004 * heights[n - 2];
  }

  add(v, up, from, to, last) {
    if (this.count === this.capacity) this.reserve(2 * this.capacity);
    const i = this.count++;
    this.node[i] = v;
    this.above[i] = up;
    this.from[i] = from;
    this.to[i] = to;
    this.last[i] = last ? 1 : 0;
    const inside = up >= 0 && this.cluster[up] >= 0;
    this.cluster[i] = inside ? this.cluster[up] : this.model.clusterOf(v);
    return inside;
  }
}

/** Arcs of the disk, from lo to hi on the screen. Of the marks that fall on one pixel of the rim the first is kept. */
class Scene extends Walk {
  reserve(capacity) {
    super.reserve(capacity);
    this.x = this.grow(Float64Array, this.x); // position in the unit disk
    this.y = this.grow(Float64Array, this.y);
  }

  /** Walk the tree for a disk of `radius` pixels. */
  build(view, radius) {
    Object.assign(this, { view, radius, bands: [], place: [0, 0] }); // bands: entries of the cut's clusters
    this.taken = new Uint8Array(Math.ceil(TAU * radius) + 1);
    this.walk(FINE / radius);
  }

  start(v) {
    return this.view.boundary(this.model.lo[v]);
  }

  end(v) {
    return this.view.boundary(this.model.hi[v]);
  }

  add(v, up, from, to, last) {
    const { model } = this;
    const inside = super.add(v, up, from, to, last), i = this.count - 1;
    this.view.project(model.angle[v], model.grown[v], model.faded[v], this.place);
    this.x[i] = this.place[0];
    this.y[i] = this.place[1];
    if (this.cluster[i] >= 0 && !inside) this.bands.push(i);
  }

  /** Remove the mark of the last entry if it does not fit on the rim. */
  finish(i) {
    if (this.x[i] * this.x[i] + this.y[i] * this.y[i] <= 0.98) return;
    const turn = (this.from[i] + this.to[i]) / 2 - TAU * Math.floor((this.from[i] + this.to[i]) / 2 / TAU);
    if (!this.taken[Math.floor(turn * this.radius)]++) return;
    this.count--;
    if (this.bands[this.bands.length - 1] === this.count) this.bands.pop();
  }
}

/** Runs of leaves from left to right, in pixels of the dendrogram. */
class Unrolled extends Walk {
  build(across) {
    this.across = across;
    this.walk(FINE);
  }

  start(v) {
    return this.across.from(v);
  }

  end(v) {
    return this.across.to(v);
  }

  inSight(from, to) {
    return to > this.across.left && from < this.across.right;
  }
}
