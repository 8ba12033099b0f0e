/* The same entries as in the disk, unrolled: across is the angle on the screen, so that both panes magnify the same leaves. */

class Dendrogram {
  constructor(canvas, model, colours, scene, across) {
    Object.assign(this, { canvas, model, colours, scene, across });
    const { n, heights } = model;
    // Heights that crowd at the top, as ranks do, show nothing; the logarithm of the number of clusters then does.
    this.byRank = n > 9 && heights[n - 1 - Math.ceil(Math.sqrt(n))] > 0.93 * heights[n - 2];
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas.parentElement;
    fit(this.canvas);
    this.width = clientWidth;
    this.height = clientHeight;
    this.top = 12;
    this.bottom = 12;
  }

  /** Lay the leaves out beside an axis, or beside the names of what is shown below, and keep room for their own names. */
  lay(view, named) {
    const narrow = this.width < 480;
    this.view = view;
    this.across.lay(view, this.width, named ? (narrow ? 64 : 112) : narrow ? 34 : 46, 16);
    this.leaves = this.model.names ? this.across.roomy(11) : [];
    this.letters = Math.min(12, this.model.names ? Math.max(...this.leaves.map(([p]) => this.model.name(this.model.order[p]).length), 0) : 0);
    this.bottom = this.leaves.length > 1 && this.height > 110 ? 12 + 10 * this.model.letterWidth() * this.letters : 12;
  }

  /** Share of the way from the leaves (0) to the root (1): the height, or the logarithm of the clusters left. */
  level(v) {
    const { n, heights } = this.model;
    if (v < n || n === 1) return 0;
    if (this.byRank) return 1 - Math.log(2 * n - 1 - v) / Math.log(n);
    const top = heights[n - 2];
    return top > 0 ? heights[v - n] / top : 1;
  }

  /** Level at which one cluster ends: half way to the merge above it. */
  endOf(cluster) {
    const up = this.model.parent[cluster];
    return up < 0 ? 1.02 : (this.level(cluster) + this.level(up)) / 2;
  }

  /** Level of a cut that only undoes the last merges: between those that it undoes and those that it keeps; null for other cuts. */
  cutLevel() {
    const { clusters, above } = this.model;
    const kept = clusters.reduce((a, b) => Math.max(a, b)), undone = above.reduce((a, b) => Math.min(a, b), Infinity);
    if (undone === Infinity) return 1.02;
    return kept < undone ? (this.level(kept) + this.level(undone)) / 2 : null;
  }

  /** Stretch the levels so that the cluster in the middle of the disk does not shrink to the bottom line as it widens. */
  stretch() {
    const { scene, view } = this;
    let level = 0;
    for (let i = 0; i < scene.count; i++) {
      const turns = TAU * Math.round((scene.from[i] + scene.to[i] - 2 * view.beta) / 2 / TAU);
      if (scene.from[i] > view.beta + turns || scene.to[i] < view.beta + turns) continue;
      const share = (scene.to[i] - scene.from[i]) / (scene.end - scene.start || 1);
      level = Math.max(level, this.level(scene.node[i]) * Math.max(0, Math.min(1, (0.92 - share) / 0.4)));
    }
    this.power = level > 0 && level < 0.55 ? Math.max(0.2, Math.log(0.55) / Math.log(level)) : 1;
  }

  y(level) {
    return this.top + (1 - Math.pow(level, this.power)) * (this.height - this.top - this.bottom);
  }

  x(psi) {
    return this.across.x(psi);
  }

  middle(i) {
    return this.x((this.scene.from[i] + this.scene.to[i]) / 2);
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
    if (this.bottom > 12) this.drawNames(ctx);
    this.drawCut(ctx);
    if (selected !== null && selected !== model.root) this.mark(ctx, selected, colours.accent);
    if (hovered !== null && hovered !== selected) this.mark(ctx, hovered, colours.ink);
  }

  /** Levels with a number: heights, or numbers of clusters. */
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

  /** Names of the leaves that have room, below them. */
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

  /** Rectangles on whole pixels: much faster to fill than lines are to stroke. */
  drawBranch(ctx, p, i) {
    const x = Math.round(this.middle(i)), from = Math.round(this.middle(p));
    const high = Math.round(this.y(this.level(this.scene.node[p])));
    const low = Math.round(this.y(this.scene.last[i] ? 0 : this.level(this.scene.node[i])));
    const wide = this.model.emphasis(this.scene.node[i]) > 0 && !this.model.isWeak(this.scene.node[i]) ? 2 : 1;
    ctx.fillRect(Math.min(x, from), high, Math.abs(x - from) + 1, wide);
    ctx.fillRect(x, high, wide, low - high);
  }

  /** A line through the cut: straight where the last merges are undone, else in steps, one for each cluster. */
  drawCut(ctx) {
    const { model } = this, { left, right } = this.across;
    const level = this.cutLevel();
    const y = (at) => Math.max(3, this.y(at));
    ctx.setLineDash([4, 4]);
    ctx.lineWidth = 1.2;
    ctx.strokeStyle = this.colours.accent;
    ctx.beginPath();
    ctx.moveTo(left - 8, y(level ?? this.endOf(model.clusters[0])));
    if (level === null) {
      let last = null;
      for (const v of model.clusters) {
        const from = this.x(this.turn(model.lo[v]));
        if (last !== null) ctx.lineTo((this.x(this.turn(model.hi[last])) + from) / 2, y(this.endOf(last)));
        if (last !== null) ctx.lineTo((this.x(this.turn(model.hi[last])) + from) / 2, y(this.endOf(v)));
        last = v;
      }
    }
    ctx.lineTo(right + 8, y(level ?? this.endOf(model.clusters[model.clusters.length - 1])));
    ctx.stroke();
    ctx.setLineDash([]);
  }

  mark(ctx, v, colour) {
    const { scene, model } = this;
    const from = this.x(this.turn(model.lo[v])), to = this.x(this.turn(model.hi[v]));
    ctx.fillStyle = colour;
    ctx.globalAlpha = 0.1;
    ctx.fillRect(from - 2, this.y(this.level(v)) - 2, to - from + 4, this.height);
    ctx.globalAlpha = 1;
    ctx.fillRect(from - 2, this.height - 5, Math.max(to - from, 1) + 4, 3);
    for (let i = 0; i < scene.count; i++) {
      if (scene.node[i] !== v) continue;
      ctx.beginPath();
      ctx.arc(this.middle(i), this.y(this.level(v)), 4, 0, TAU);
      ctx.fill();
      break;
    }
  }

  turn(theta) {
    return this.view.boundary(theta);
  }

  /** The smallest drawn cluster whose branch, or what hangs from it, is under the pointer. */
  pick(px, py) {
    const { scene } = this;
    let found = null;
    for (let i = 0; i < scene.count; i++) {
      const slack = scene.last[i] ? 2 : 0;
      if (px < this.x(scene.from[i]) - slack || px > this.x(scene.to[i]) + slack) continue;
      if (i === 0 || py >= this.y(this.level(scene.node[scene.above[i]]))) found = scene.node[i];
    }
    return found;
  }
}
