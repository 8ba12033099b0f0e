/* What is visible in a view: the tree walked from the root, no further than a pixel can show.
 *
 * An arc of the circle that is narrower than FINE pixels is one mark, whatever lies below it, and of the marks that fall on one
 * pixel of the rim the first is kept. So the work of a frame grows with
 * the circumference of the disk, not with the number of leaves; only a chain has to be walked along its whole spine. */

const FINE = 1.3;

class Scene {
  constructor(model) {
    this.model = model;
    this.capacity = 0;
    this.count = 0;
    this.reserve(4096);
    this.bands = []; // entries of the cut's clusters
    this.place = [0, 0];
  }

  reserve(capacity) {
    const grow = (Type, old) => {
      const array = new Type(capacity);
      if (old) array.set(old);
      return array;
    };
    this.node = grow(Int32Array, this.node); // node of each entry; entries are in preorder
    this.above = grow(Int32Array, this.above); // entry of its parent, −1 for the root
    this.x = grow(Float64Array, this.x); // place in the unit disk
    this.y = grow(Float64Array, this.y);
    this.from = grow(Float64Array, this.from); // arc on the screen
    this.to = grow(Float64Array, this.to);
    this.cluster = grow(Int32Array, this.cluster); // number of its cluster, −1 above the cut
    this.last = grow(Uint8Array, this.last); // 1 when nothing below it is drawn
    this.capacity = capacity;
  }

  /** Walk the tree for a disk of `radius` pixels. */
  build(view, radius) {
    const { model } = this;
    const { n, lo, hi, root } = model;
    const least = FINE / radius;
    const taken = new Uint8Array(Math.ceil(TAU * radius) + 1);
    this.start = view.boundary(lo[root]);
    this.end = view.boundary(hi[root]);
    this.count = 0;
    this.bands = [];
    this.todo = [root, -1, this.start, this.end];
    while (this.todo.length) {
      const to = this.todo.pop(), from = this.todo.pop(), up = this.todo.pop(), v = this.todo.pop();
      const last = v < n || to - from < least;
      if (!last && up >= 0 && this.hardlyDiffers(v, up, from, to, least / 2)) {
        this.descend(view, v, up, from, to);
        continue;
      }
      this.add(view, v, up, from, to, last);
      const i = this.count - 1;
      if (!last) this.descend(view, v, i, from, to);
      else if (this.x[i] * this.x[i] + this.y[i] * this.y[i] > 0.98) {
        const turn = (from + to) / 2 - TAU * Math.floor((from + to) / 2 / TAU);
        if (taken[Math.floor(turn * radius)]++) this.remove();
      }
    }
  }

  /** Put the children of v on the list, below entry i. */
  descend(view, v, i, from, to) {
    const { lo, hi } = this.model;
    const a = this.model.left(v), b = this.model.right(v);
    // Clusters that are not arcs (an embedding that does not decode to the tree) overlap, hence hi of a may be that of v.
    this.todo.push(b, i, view.boundary(lo[b]), hi[b] === hi[v] ? to : view.boundary(hi[b]));
    this.todo.push(a, i, from, hi[a] === hi[v] ? to : view.boundary(hi[a]));
  }

  /** Is v, on the spine of a chain perhaps, where the entry above it is, in disk and dendrogram, and of its cluster? */
  hardlyDiffers(v, up, from, to, least) {
    const { aboveCut, heights, n } = this.model;
    if (!aboveCut[v] && this.cluster[up] < 0) return false;
    if (from - this.from[up] > least || this.to[up] - to > least) return false;
    const above = this.node[up];
    if (Math.log((2 * n - 1 - v) / (2 * n - 1 - above)) > 0.004 * Math.log(n)) return false;
    return heights[above - n] - heights[v - n] < 0.004 * heights[n - 2];
  }

  add(view, v, up, from, to, last) {
    const { model, bands } = this;
    if (this.count === this.capacity) this.reserve(2 * this.capacity);
    const i = this.count++;
    view.project(model.angle[v], model.grown[v], model.faded[v], this.place);
    this.node[i] = v;
    this.above[i] = up;
    this.x[i] = this.place[0];
    this.y[i] = this.place[1];
    this.from[i] = from;
    this.to[i] = to;
    this.last[i] = last ? 1 : 0;
    const inside = up >= 0 && this.cluster[up] >= 0;
    this.cluster[i] = inside ? this.cluster[up] : model.clusterOf(v);
    if (this.cluster[i] >= 0 && !inside) bands.push(i);
  }

  /** Take back the last entry, for whose mark there is no room. */
  remove() {
    this.count--;
    if (this.bands[this.bands.length - 1] === this.count) this.bands.pop();
  }
}
