/* The tree above its leaves, which stand side by side, each as wide as it has points. */

const LEAST = 5; // pixels above the leaves at which merges are drawn at least, unless of equal points
const BELOW = 16; // pixels below the leaves, for a line of small print
const NAMES = 10; // pixels, size of names
const ZERO = 1e-12; // heights below this share of the root's are the rounding of 0

class Dendrogram {
  constructor(canvas, model, colours, across) {
    Object.assign(this, { canvas, model, colours, across });
    this.scene = new Unrolled(model);
    this.more = ""; // caption of the heat map, part of the line of small print
    const { n, heights } = model;
    // Where most heights are close to the root's, as ranks are, the axis is the logarithm of the number of clusters.
    this.byRank = n > 9 && heights[n - 1 - Math.ceil(Math.sqrt(n))] > 0.93 * heights[n - 2];
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas.parentElement;
    fit(this.canvas);
    this.width = clientWidth;
    this.height = clientHeight;
    this.top = 12;
    this.bottom = BELOW;
  }

  /** Compute the margins: the axis or the names of strips and features at the left, names of leaves below. */
  lay(view, named) {
    const narrow = this.width < 480;
    this.across.lay(view, this.width, named ? (narrow ? 64 : 112) : narrow ? 34 : 46, 16);
    this.scene.build(this.across);
    this.leaves = this.model.names ? this.across.roomy(11) : [];
    this.letters = Math.min(12, this.model.names ? Math.max(...this.leaves.map(([p]) => this.model.name(this.model.order[p]).length), 0) : 0);
    this.named = this.leaves.length > 1 && this.height > 110;
    this.groups = this.model.namesGroups() && !this.named ? this.placeGroupNames() : [];
    const longest = () => Math.max(...this.leaves.map(([p]) => textWidth(this.model.shortName(this.model.order[p], this.letters), NAMES)));
    this.bottom = BELOW + (this.named ? 8 + longest() : this.groups.length ? NAMES + 4 : 0);
  }

  /** Return the level of a node, from 0 (leaves) to 1 (root): its height, or the logarithm of the number of clusters. Only leaves
   * and merges of equal points are at 0. */
  level(v) {
    const { n, heights } = this.model;
    if (v < n || n === 1) return 0;
    if (this.byRank) return 1 - Math.log(2 * n - 1 - v) / Math.log(n);
    const height = heights[v - n], top = heights[n - 2];
    return height > ZERO * top ? height / top : this.model.zeroIsEqual ? 0 : Number.MIN_VALUE;
  }

  /** Return the level at which a cluster ends: half way to the merge above it. */
  endOf(cluster) {
    const up = this.model.parent[cluster];
    return up < 0 ? 1.02 : (this.level(cluster) + this.level(up)) / 2;
  }

  /** Return the level of a cut that undoes the highest splits or the last merges, between undone and kept ones; null for other
   * cuts. */
  cutLevel() {
    const { clusters, above, larger, splits, turns, k, n } = this.model;
    if (larger && k - 1 <= splits) {
      let undone = 1.02, kept = 0;
      turns.forEach((turn, t) => {
        if (turn < k - 1) undone = Math.min(undone, this.level(n + t));
        else if (turn < splits) kept = Math.max(kept, this.level(n + t));
      });
      if (undone < kept) return null;
      return k === 1 ? 1.02 : kept > 0 ? (undone + kept) / 2 : 0.98 * undone;
    }
    const kept = clusters.reduce((a, b) => Math.max(a, b)), undone = above.reduce((a, b) => Math.min(a, b), Infinity);
    if (undone === Infinity) return 1.02;
    return kept < undone ? (this.level(kept) + this.level(undone)) / 2 : null;
  }

  /** Stretch the levels so that the cluster in the middle of the pane does not shrink to the bottom line as it widens. */
  stretch() {
    const { scene, across } = this, middle = (across.left + across.right) / 2;
    let level = 0;
    for (let i = 0; i < scene.count; i++) {
      if (scene.from[i] > middle || scene.to[i] < middle) continue;
      const share = (scene.to[i] - scene.from[i]) / (across.right - across.left);
      level = Math.max(level, this.level(scene.node[i]) * Math.max(0, Math.min(1, (1.25 - share) / 0.25)));
    }
    this.power = level > 0 && level < 0.55 ? Math.max(0.2, Math.log(0.55) / Math.log(level)) : 1;
  }

  y(level) {
    const room = this.height - this.top - this.bottom;
    return this.top + room - (level > 0 ? Math.max(Math.min(LEAST, room), Math.pow(level, this.power) * room) : 0);
  }

  /** Return whether a visible merge is drawn higher than it lies. */
  isRaised() {
    const { scene, model } = this, room = this.height - this.top - this.bottom;
    for (let i = 0; i < scene.count; i++) {
      const level = this.level(scene.node[i]);
      if (scene.node[i] >= model.n && !scene.last[i] && level > 0 && Math.pow(level, this.power) * room < LEAST) return true;
    }
    return false;
  }

  middle(i) {
    return (this.scene.from[i] + this.scene.to[i]) / 2;
  }

  draw(state) {
    const ctx = this.canvas.getContext("2d");
    ctx.clearRect(0, 0, this.width, this.height);
    this.paint(ctx, state);
  }

  paint(ctx, { selected, hovered }) {
    const { scene, colours, model } = this;
    this.stretch();
    this.drawAxis(ctx);
    const sorts = new Map();
    const anchor = new Int32Array(scene.count);
    for (let i = 0; i < scene.count; i++) {
      const p = i ? anchor[scene.above[i]] : 0;
      anchor[i] = i;
      if (i && !scene.last[i]) {
        const tiny = Math.abs(this.middle(i) - this.middle(p)) < 0.6;
        if (tiny && Math.abs(this.y(this.level(scene.node[i])) - this.y(this.level(scene.node[p]))) < 0.6) anchor[i] = p;
      }
      const key = colours.node(scene.node[i], scene.cluster[i]);
      let list = sorts.get(key);
      if (!list) sorts.set(key, (list = []));
      if (i && anchor[i] === i) list.push(p, i);
    }
    // Dense parts are drawn fainter, so that their shape stays visible.
    ctx.globalAlpha = scene.count > 1500 ? 0.75 : 1;
    for (const [key, list] of sorts) {
      ctx.fillStyle = key === colours.neutral ? colours.muted : colours.table[key];
      for (let e = 0; e < list.length; e += 2) this.drawBranch(ctx, list[e], list[e + 1]);
    }
    ctx.globalAlpha = 1;
    if (this.named) this.drawNames(ctx);
    this.drawGroupNames(ctx);
    this.note(ctx, [this.wayToCut(), this.rule(), this.wayToNames(), this.more].filter(Boolean).join(" · "));
    this.drawCut(ctx);
    if (selected !== null && selected !== model.root) this.mark(ctx, selected, colours.accent);
    if (hovered !== null && hovered !== selected) this.mark(ctx, hovered, colours.ink);
  }

  /** Clamp x to the pane. */
  within(x) {
    return Math.max(this.across.left - 8, Math.min(this.across.right + 8, x));
  }

  /** Draw a line of small print below the leaves. */
  note(ctx, text) {
    ctx.font = `10px ${FONT}`;
    ctx.textAlign = "right";
    ctx.textBaseline = "alphabetic";
    ctx.fillStyle = this.colours.muted;
    ctx.fillText(text, this.across.right, this.height - 2);
  }

  /** Return the ticks of the axis: heights, or numbers of clusters. */
  ticks() {
    const { n, heights } = this.model;
    if (n === 1) return [];
    const top = heights[n - 2], ticks = [];
    if (this.byRank) for (let k = 1; k <= n; k *= 10) ticks.push([1 - Math.log(k) / Math.log(n), number(k)]);
    else if (top > 0) {
      const rough = top / 4, unit = 10 ** Math.floor(Math.log10(rough)), step = unit * [1, 2, 5, 10].find((m) => m * unit >= rough);
      for (let h = 0; h <= top * 1.0001; h += step) ticks.push([h / top, short(h)]);
    }
    return ticks;
  }

  drawAxis(ctx) {
    const x = this.across.left - 9;
    ctx.font = `10px ${FONT}`;
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    ctx.fillStyle = this.colours.muted;
    ctx.fillRect(x, this.y(1), 1, this.y(0) - this.y(1));
    let last = Infinity;
    for (const [level, text] of this.ticks()) {
      const y = this.y(level);
      ctx.fillRect(x - 3, Math.round(y), 3, 1);
      if (Math.abs(last - y) < 11) continue;
      ctx.fillText(text, x - 5, y);
      last = y;
    }
    ctx.save();
    ctx.translate(Math.max(8, x - 46), (this.y(0) + this.y(1)) / 2);
    ctx.rotate(-Math.PI / 2);
    ctx.textAlign = "center";
    ctx.fillText(this.byRank ? "clusters" : "height", 0, 0);
    ctx.restore();
  }

  /** Return the rule by which low merges are raised, if any is. */
  rule() {
    if (this.byRank || !this.isRaised()) return "";
    return `heights drawn at least ${LEAST} px${this.model.zeroIsEqual ? " unless 0" : ""}`;
  }

  /** Return the meaning of the dashed line, if the pane is wide enough. */
  wayToCut() {
    const { clusters, parts } = this.model;
    if (this.width < 480 || (this.cutLevel() === null && parts.length > clusters.length)) return "";
    return `dashed: the cut into ${number(clusters.length)} cluster${clusters.length > 1 ? "s" : ""}`;
  }

  /** Return how to show names, where there are some and none is drawn. */
  wayToNames() {
    const { model, across } = this;
    if (!model.names || this.named || across.shown() < 2) return "";
    return this.leaves.length > 1 ? "no room for names below a heat map" : "zoom in for names";
  }

  /** Draw the names that fit below their leaves. */
  drawNames(ctx) {
    ctx.font = `10px ${FONT}`;
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    ctx.fillStyle = this.colours.muted;
    for (const [p, x] of this.leaves) {
      ctx.save();
      ctx.translate(x, this.y(0) + 6);
      ctx.rotate(-Math.PI / 2);
      ctx.fillText(this.model.shortName(this.model.order[p], this.letters), 0, 0);
      ctx.restore();
    }
  }

  /** Return [name, x] of groups whose names have room side by side below their leaves: clusters of the cut first, then their parts. */
  placeGroupNames() {
    const { across, model, scene } = this, placed = [];
    for (const node of scene.namedGroups((across.right - across.left) / 4)) {
      const from = this.within(across.from(node)), to = this.within(across.to(node)), x = (from + to) / 2;
      const name = model.shortGroupName(node, Math.floor((to - from) / (NAMES * model.letterWidth())));
      const half = textWidth(name, NAMES) / 2 + 3;
      const clear = placed.every(([, other, reach]) => Math.abs(other - x) >= half + reach);
      if (name.length > 3 && x - half >= across.left - 8 && x + half <= across.right + 8 && clear) placed.push([name, x, half]);
    }
    return placed;
  }

  drawGroupNames(ctx) {
    ctx.font = `${NAMES}px ${FONT}`;
    ctx.textAlign = "center";
    ctx.textBaseline = "alphabetic";
    ctx.fillStyle = this.colours.ink;
    for (const [name, x] of this.groups) ctx.fillText(name, x, this.y(0) + NAMES + 2);
  }

  /** Draw lines as rectangles on whole pixels, which are much faster to fill than lines are to stroke. */
  drawBranch(ctx, p, i) {
    const middle = this.middle(i), x = Math.round(this.within(middle)), from = Math.round(this.within(this.middle(p)));
    const high = Math.round(this.y(this.level(this.scene.node[p])));
    const low = Math.round(this.y(this.scene.last[i] ? 0 : this.level(this.scene.node[i])));
    const wide = this.model.emphasis(this.scene.node[i]) > 0 && !this.model.isWeak(this.scene.node[i]) ? 2 : 1;
    ctx.fillRect(Math.min(x, from), high, Math.abs(x - from) + 1, wide);
    if (middle === this.within(middle)) ctx.fillRect(x, high, wide, low - high);
  }

  /** Draw a line through the cut: straight where the highest splits or the last merges are undone, else in steps, one for each
   * cluster; none where parts join clusters from above such steps. */
  drawCut(ctx) {
    const { model } = this, { left, right } = this.across;
    const level = this.cutLevel();
    if (level === null && model.parts.length > model.clusters.length) return;
    const y = (at) => Math.max(3, this.y(at));
    ctx.setLineDash([4, 4]);
    ctx.lineWidth = 1.2;
    ctx.strokeStyle = this.colours.accent;
    ctx.beginPath();
    ctx.moveTo(left - 8, y(level ?? this.endOf(model.clusters[0])));
    if (level === null) {
      for (let k = 1; k < model.clusters.length; k++) {
        const between = this.within(this.across.from(model.clusters[k]));
        ctx.lineTo(between, y(this.endOf(model.clusters[k - 1])));
        ctx.lineTo(between, y(this.endOf(model.clusters[k])));
      }
    }
    ctx.lineTo(right + 8, y(level ?? this.endOf(model.clusters[model.clusters.length - 1])));
    ctx.stroke();
    ctx.setLineDash([]);
  }

  mark(ctx, v, colour) {
    const { scene, model } = this;
    const from = this.within(this.across.from(v)), to = this.within(this.across.to(v));
    ctx.fillStyle = colour;
    ctx.globalAlpha = 0.1;
    ctx.fillRect(from, this.y(this.level(v)) - 2, to - from, this.height);
    ctx.globalAlpha = 1;
    ctx.fillRect(from, this.y(0) + 1, Math.max(to - from, 2), 3);
    for (let i = 0; i < scene.count; i++) {
      if (scene.node[i] !== v) continue;
      ctx.beginPath();
      if (this.middle(i) === this.within(this.middle(i))) ctx.arc(this.middle(i), this.y(this.level(v)), 4, 0, TAU);
      ctx.fill();
      break;
    }
  }

  /** Return the smallest drawn cluster whose branch, or a branch below it, is under the pointer. */
  pick(px, py) {
    const { scene } = this;
    let found = null;
    for (let i = 0; i < scene.count; i++) {
      const slack = scene.last[i] ? 2 : 0;
      if (px < scene.from[i] - slack || px > scene.to[i] + slack) continue;
      if (i === 0 || py >= this.y(this.level(scene.node[scene.above[i]]))) found = scene.node[i];
    }
    return found;
  }
}
