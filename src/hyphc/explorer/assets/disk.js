/* The Poincaré disk on a canvas: arcs of geodesics, leaves, a band for each cluster of the cut, and a crown of names or pictures. */

const WIDTHS = [0.7, 1.0, 1.5, 2.2];
// Leaves this near, by 1 − |z|², are drawn as pictures.
const PICTURED = 0.1;
const NAME_SIZE = 11; // pixels
const LONGEST = 40; // letters of a name beside the disk
const INNER_NAMES = 8; // names of groups within the disk
const WIDE = Math.PI / 2; // clusters on longer arcs have names of parts beside their own

/** Resize a canvas to its pane, at the resolution of the screen, at most two pixels per CSS pixel; units are CSS pixels. */
function fit(canvas) {
  const { clientWidth, clientHeight } = canvas.parentElement;
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  canvas.width = Math.round(clientWidth * ratio);
  canvas.height = Math.round(clientHeight * ratio);
  canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
}

/** Return the width of a text in pixels, at a font size in pixels. */
function textWidth(text, size) {
  textWidth.ctx ??= document.createElement("canvas").getContext("2d");
  textWidth.ctx.font = `${size}px ${FONT}`;
  return textWidth.ctx.measureText(text).width;
}

class Disk {
  constructor(base, model, colours, thumbs) {
    Object.assign(this, { base, model, colours, thumbs });
    this.scene = new Scene(model);
    this.crown = [];
  }

  resize() {
    const { clientWidth, clientHeight } = this.base.parentElement;
    fit(this.base);
    this.width = clientWidth;
    this.height = clientHeight;
    this.cx = clientWidth / 2;
    this.cy = clientHeight / 2;
    const half = Math.min(clientWidth, clientHeight) / 2;
    this.thumb = half < 240 ? 20 : 28;
    this.letters = this.lettersWithin(half, clientWidth < 480 ? 6 : 12);
    this.margin = this.thumbs.ready ? this.thumb + 20 : this.letters ? 26 + NAME_SIZE * this.model.letterWidth() * this.letters : 22;
    this.radius = Math.max(40, half - this.margin);
  }

  /** Return the length of names around the disk that leaves it most of the pane; 0 where names would be too short. */
  lettersWithin(half, most) {
    const grouped = this.namesGroups();
    if (!(this.model.names || grouped) || this.thumbs.ready) return 0;
    const wanted = Math.min(grouped ? 1.5 * most : most, this.longestName(grouped));
    const room = Math.floor((0.4 * half - 26) / (NAME_SIZE * this.model.letterWidth()));
    return room < Math.min(5, wanted) ? 0 : Math.min(wanted, room);
  }

  /** Return the 95 % quantile of the lengths of names. */
  longestName(grouped) {
    const names = grouped ? this.model.nodeNames.filter(Boolean) : this.model.names;
    this.longest ??= names.map((name) => name.length).sort((a, b) => a - b)[Math.floor(0.95 * (names.length - 1))] ?? 0;
    return this.longest;
  }

  /** Return whether groups have names around the disk: where they have any, and leaves are many and have no pictures. */
  namesGroups() {
    return this.model.namesGroups() && !this.thumbs.ready;
  }

  /** Return the letters that have room beside the rim in a direction: names end on an ellipse, which leaves the corners free. */
  lettersAt(turn) {
    const end = 1 / Math.hypot(Math.cos(turn) / (this.width / 2 - 8), Math.sin(turn) / (this.height / 2 - 8));
    const room = Math.floor((end - this.radius - 14) / (NAME_SIZE * this.model.letterWidth()));
    return Math.max(this.letters, Math.min(LONGEST, room));
  }

  /** Return the point of the unit disk under the pointer; beyond the rim the nearest point within. */
  at(px, py) {
    const u = (px - this.cx) / this.radius, v = -(py - this.cy) / this.radius;
    const r = Math.hypot(u, v), most = 0.985;
    return r > most ? [(u / r) * most, (v / r) * most] : [u, v];
  }

  screenX(u) {
    return this.cx + this.radius * u;
  }

  screenY(v) {
    return this.cy - this.radius * v;
  }

  /** Draw the view; the leaves in `favoured` come first in the crown. */
  draw(view, favoured) {
    const ctx = this.base.getContext("2d");
    ctx.clearRect(0, 0, this.width, this.height);
    this.scene.build(view, this.radius);
    this.paint(ctx, view, favoured);
  }

  paint(ctx, view, favoured) {
    this.drawGround(ctx);
    this.drawEdges(ctx);
    this.drawBands(ctx);
    this.drawNodes(ctx);
    if (this.namesGroups()) this.drawInnerNames(ctx);
    this.drawCrown(ctx, view, favoured);
  }

  drawGround(ctx) {
    ctx.beginPath();
    ctx.arc(this.cx, this.cy, this.radius, 0, TAU);
    ctx.fillStyle = this.colours.disk;
    ctx.fill();
    ctx.lineWidth = 1;
    ctx.strokeStyle = this.colours.faint;
    ctx.stroke();
  }

  /** Draw the edges in batches of one colour and width: a stroke per batch, not per edge. */
  drawEdges(ctx) {
    const { scene, colours, model } = this;
    const sorts = new Map();
    // An edge shorter than half a pixel is not drawn; what follows it starts where it started.
    const anchor = new Int32Array(scene.count);
    for (let i = 1; i < scene.count; i++) {
      const p = anchor[scene.above[i]];
      const dx = scene.x[i] - scene.x[p], dy = scene.y[i] - scene.y[p];
      anchor[i] = p;
      if ((dx * dx + dy * dy) * this.radius * this.radius < 0.25) continue;
      anchor[i] = i;
      const near = 1 - Math.min(scene.x[p] * scene.x[p] + scene.y[p] * scene.y[p], scene.x[i] * scene.x[i] + scene.y[i] * scene.y[i]);
      const usual = near > 0.5 ? 3 : near > 0.12 ? 2 : near > 0.03 ? 1 : 0;
      const width = model.isWeak(scene.node[i]) ? 0 : Math.max(0, Math.min(3, usual + model.emphasis(scene.node[i])));
      const key = colours.node(scene.node[i], scene.cluster[i]) * 4 + width;
      let edges = sorts.get(key);
      if (!edges) sorts.set(key, (edges = []));
      edges.push(p, i);
    }
    ctx.lineCap = "round";
    for (const [key, edges] of sorts) {
      ctx.beginPath();
      for (let e = 0; e < edges.length; e += 2) this.traceGeodesic(ctx, edges[e], edges[e + 1]);
      ctx.strokeStyle = key >> 2 === colours.neutral ? colours.muted : colours.table[key >> 2];
      ctx.globalAlpha = key >> 2 === colours.neutral ? 0.75 : 0.85;
      ctx.lineWidth = WIDTHS[key & 3];
      ctx.stroke();
    }
    ctx.globalAlpha = 1;
  }

  /** Draw the geodesic between two points as a quadratic curve or, where it is long, as an arc of its circle. */
  traceGeodesic(ctx, p, q) {
    const { scene } = this;
    const ax = scene.x[p], ay = scene.y[p], bx = scene.x[q], by = scene.y[q];
    ctx.moveTo(this.screenX(ax), this.screenY(ay));
    const det = 2 * (ax * by - ay * bx);
    const length = Math.hypot(ax - bx, ay - by);
    if (Math.abs(det) > 1e-9) {
      const a = 1 + ax * ax + ay * ay, b = 1 + bx * bx + by * by;
      const cx = (a * by - b * ay) / det, cy = (b * ax - a * bx) / det;
      const r2 = cx * cx + cy * cy - 1;
      if (r2 > 0 && (length * length) / Math.sqrt(r2) * this.radius > 1.5) {
        if (length > 0.9 * Math.sqrt(r2)) {
          const from = Math.atan2(cy - ay, ax - cx), to = Math.atan2(cy - by, bx - cx);
          const sweep = Math.atan2(Math.sin(to - from), Math.cos(to - from));
          ctx.arc(this.screenX(cx), this.screenY(cy), Math.sqrt(r2) * this.radius, from, to, sweep < 0);
          return;
        }
        const mx = (ax + bx) / 2 - cx, my = (ay + by) / 2 - cy;
        const out = r2 / (mx * mx + my * my);
        ctx.quadraticCurveTo(this.screenX(cx + mx * out), this.screenY(cy + my * out), this.screenX(bx), this.screenY(by));
        return;
      }
    }
    ctx.lineTo(this.screenX(bx), this.screenY(by));
  }

  traceArc(ctx, radius, from, to) {
    ctx.beginPath();
    ctx.arc(this.cx, this.cy, radius, -from, -to, true);
  }

  drawBands(ctx) {
    const { scene, colours } = this;
    ctx.lineCap = "butt";
    ctx.lineWidth = 5;
    for (const i of scene.bands) {
      // At least two pixels; a longer arc ends a pixel early, so that neighbours of one colour can be distinguished.
      const half = Math.max(-1, Math.min(1, (2 - (scene.to[i] - scene.from[i]) * this.radius) / 2)) / this.radius;
      this.traceArc(ctx, this.radius + 6, scene.from[i] - half, scene.to[i] + half);
      const colour = colours.node(scene.node[i], scene.cluster[i]);
      ctx.strokeStyle = colour === colours.neutral ? colours.muted : colours.table[colour];
      ctx.stroke();
    }
  }

  drawNodes(ctx) {
    const { scene, colours, model } = this;
    const pictures = [];
    const marks = new Map();
    for (let i = 0; i < scene.count; i++) {
      const near = 1 - scene.x[i] * scene.x[i] - scene.y[i] * scene.y[i];
      const v = scene.node[i];
      let r = 0;
      if (scene.last[i]) {
        r = Math.min(6, 1.3 + 9 * near);
        if (v < model.n && this.thumbs.ready && near > PICTURED) {
          pictures.push(i);
          continue;
        }
      } else if (near > 0.1) r = Math.min(4, 0.6 + 4.2 * near);
      else if (!model.aboveCut[v] && (scene.above[i] < 0 || scene.cluster[scene.above[i]] < 0) && near > 0.02) r = 2;
      if (r === 0) continue;
      const key = colours.node(v, scene.cluster[i]);
      let list = marks.get(key);
      if (!list) marks.set(key, (list = []));
      list.push(i, r);
    }
    for (const [key, list] of marks) {
      ctx.fillStyle = key === colours.neutral ? colours.muted : colours.table[key];
      ctx.beginPath();
      for (let e = 0; e < list.length; e += 2) {
        const x = this.screenX(scene.x[list[e]]), y = this.screenY(scene.y[list[e]]), r = list[e + 1];
        if (r < 1.6) {
          ctx.fillRect(x - r, y - r, 2 * r, 2 * r); // too small to be distinguished from a circle
          continue;
        }
        ctx.moveTo(x + r, y);
        ctx.arc(x, y, r, 0, TAU);
      }
      ctx.fill();
    }
    this.drawPictures(ctx, pictures);
  }

  /** Draw thumbnails of leaves near the centre, the nearest first, without overlaps. */
  drawPictures(ctx, entries) {
    const { scene } = this;
    const nearness = (i) => 1 - scene.x[i] * scene.x[i] - scene.y[i] * scene.y[i];
    entries.sort((a, b) => nearness(b) - nearness(a));
    const shown = [];
    for (const i of entries.slice(0, 300)) {
      const x = this.screenX(scene.x[i]), y = this.screenY(scene.y[i]);
      const size = this.pictureSize(nearness(i));
      if (shown.some((s) => Math.max(Math.abs(s[0] - x), Math.abs(s[1] - y)) < (s[2] + size) / 2)) {
        ctx.fillStyle = this.colours.css(scene.node[i]);
        ctx.beginPath();
        ctx.arc(x, y, 3, 0, TAU);
        ctx.fill();
        continue;
      }
      shown.push([x, y, size]);
      this.thumbs.draw(ctx, scene.node[i], x, y, size, this.colours.css(scene.node[i]));
    }
  }

  /** Draw pictures or names outside the rim for as many leaves as fit, those that represent large clusters first. */
  drawCrown(ctx, view, favoured) {
    const { scene, model } = this;
    this.crown = [];
    const pictures = this.thumbs.ready;
    if (!pictures && !this.letters) return;
    const grouped = this.namesGroups();
    const leaves = grouped ? this.scene.namedGroups(WIDE) : [];
    for (let i = 0; !grouped && i < scene.count; i++) if (scene.last[i]) leaves.push(model.standIn[scene.node[i]]);
    if (!grouped) leaves.sort((a, b) => model.rank[b] - model.rank[a] || a - b);
    const radius = this.radius + (pictures ? 14 + this.thumb / 2 : 14);
    const room = (pictures ? this.thumb * 1.12 : 13) / radius;
    const bins = Math.floor(TAU / room);
    const taken = new Array(bins).fill(null);
    for (const leaf of grouped ? leaves : favoured.concat(leaves)) {
      const psi = leaf < model.n ? view.boundary(model.angle[leaf]) : (view.boundary(model.lo[leaf]) + view.boundary(model.hi[leaf])) / 2;
      const turn = ((psi % TAU) + TAU) % TAU;
      const bin = Math.min(bins - 1, Math.floor((turn / TAU) * bins));
      if (taken[bin] !== null) continue;
      const clear = (other) => other === null || Math.abs(Math.atan2(Math.sin(other - turn), Math.cos(other - turn))) >= room;
      if (!clear(taken[(bin + 1) % bins]) || !clear(taken[(bin + bins - 1) % bins])) continue;
      taken[bin] = turn;
      this.crown.push({ leaf, turn, x: this.cx + radius * Math.cos(turn), y: this.cy - radius * Math.sin(turn) });
    }
    if (grouped) this.noteGroups(ctx);
    if (!pictures && !grouped && this.crown.length < model.n) this.note(ctx, `${number(this.crown.length)} of ${number(model.n)} names`);
    if (pictures) for (const { leaf, x, y } of this.crown) this.thumbs.draw(ctx, leaf, x, y, this.thumb - 2, this.colours.css(leaf), true);
    else this.drawNames(ctx);
  }

  isCluster(node) {
    return this.model.clusterOf(node) >= 0 && this.model.clusters[this.model.clusterOf(node)] === node;
  }

  /** Say how many clusters of the cut have a name beside the disk, where not all have. */
  noteGroups(ctx) {
    const named = this.crown.filter(({ leaf }) => this.isCluster(leaf)).length, { k } = this.model;
    if (k > 1 && named < k) this.note(ctx, `names of ${number(named)} of ${number(k)} clusters`);
  }

  /** Draw names of groups beside their nodes near the centre of the disk, where nothing overlaps. */
  drawInnerNames(ctx) {
    const { scene, model, colours } = this;
    const entries = [], boxes = []; // boxes: x, y, width and height of nodes and names
    for (let i = 0; i < scene.count; i++) {
      const near = 1 - scene.x[i] ** 2 - scene.y[i] ** 2;
      if (near > 0.3) boxes.push([this.screenX(scene.x[i]) - 3, this.screenY(scene.y[i]) - 3, 6, 6]);
      if (i && near > 0.4 && !scene.last[i] && model.groupName(scene.node[i])) entries.push([near, i]);
    }
    ctx.font = `${NAME_SIZE}px ${FONT}`;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    const named = [];
    for (const [, i] of entries.sort((a, b) => b[0] - a[0])) {
      const name = model.shortGroupName(scene.node[i], 20), width = textWidth(name, NAME_SIZE);
      const px = this.screenX(scene.x[i]), y = this.screenY(scene.y[i]);
      if (named.length >= INNER_NAMES || named.some(([other, nx, ny]) => other === name || Math.hypot(nx - px, ny - y) < 30)) continue;
      for (const x of px < this.cx ? [px - width - 10, px + 8] : [px + 8, px - width - 10]) {
        const within = [x, x + width].every((side) => Math.hypot(side - this.cx, y - this.cy) < this.radius - 24);
        const clear = boxes.every(([bx, by, bw, bh]) => x > bx + bw || x + width < bx || Math.abs(y - by - bh / 2) > 7 + bh / 2);
        if (!within || !clear) continue;
        ctx.globalAlpha = 0.8;
        ctx.fillStyle = colours.disk;
        ctx.fillRect(x - 2, y - 7, width + 4, 14);
        ctx.globalAlpha = 1;
        ctx.fillStyle = colours.ink;
        ctx.fillText(name, x, y);
        boxes.push([x, y - 7, width, 14]);
        named.push([name, px, y]);
        break;
      }
    }
  }

  /** Draw a line of small print at the bottom. */
  note(ctx, text) {
    ctx.font = `10px ${FONT}`;
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    ctx.fillStyle = this.colours.muted;
    ctx.fillText(text, 52, this.height - 6); // beside the buttons
  }

  drawNames(ctx) {
    ctx.font = `${NAME_SIZE}px ${FONT}`;
    ctx.textBaseline = "middle";
    for (const { leaf, turn, x, y } of this.crown) {
      const left = Math.cos(turn) < 0;
      ctx.save();
      ctx.translate(x, y);
      ctx.rotate(left ? Math.PI - turn : -turn);
      ctx.textAlign = left ? "right" : "left";
      ctx.fillStyle = leaf >= this.model.n && this.isCluster(leaf) ? this.colours.ink : this.colours.muted;
      ctx.fillText(this.crownName(leaf, this.lettersAt(turn)), 0, 0);
      ctx.restore();
    }
  }

  /** Return a name that has at most so many letters: of leaves all or, as elsewhere around the disk, `this.letters` of them. */
  crownName(node, most) {
    const { model } = this;
    if (node >= model.n) return model.shortGroupName(node, most);
    return model.ownName(node, this.letters).length <= most ? model.ownName(node, this.letters) : model.shortName(node, this.letters);
  }

  pictureSize(near) {
    return Math.min(44, 14 + 44 * near);
  }

  /** Return the node under the pointer, or null: a mark within reach, a picture of the crown, or the cluster of a band. */
  pick(px, py, reach = 13) {
    const { scene } = this;
    for (const { leaf, x, y } of this.thumbs.ready ? this.crown : []) {
      if (Math.max(Math.abs(x - px), Math.abs(y - py)) < this.thumb / 2) return leaf;
    }
    const out = Math.hypot(px - this.cx, py - this.cy) - this.radius;
    if (out > 3 && out < 13) {
      const psi = Math.atan2(this.cy - py, px - this.cx);
      for (const i of scene.bands) {
        const past = (((psi - scene.from[i]) % TAU) + TAU) % TAU;
        if (past <= scene.to[i] - scene.from[i]) return scene.node[i];
      }
    }
    let best = reach * reach, found = null;
    for (let i = 0; i < scene.count; i++) {
      const dx = this.screenX(scene.x[i]) - px, dy = this.screenY(scene.y[i]) - py;
      // Between equals the larger cluster, which comes first, is taken.
      if (dx * dx + dy * dy < best - 1) {
        best = dx * dx + dy * dy;
        found = scene.node[i];
      }
    }
    return found;
  }
}
