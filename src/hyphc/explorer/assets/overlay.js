/* Highlights over the disk, on a canvas of their own: matches of the search, the selected cluster, the node under the pointer. */

class Overlay {
  constructor(canvas, disk) {
    this.canvas = canvas;
    this.disk = disk;
  }

  draw(view, { selected, hovered, matches, focused }) {
    const ctx = this.canvas.getContext("2d");
    ctx.clearRect(0, 0, this.disk.width, this.disk.height);
    if (matches.length) this.matches(ctx, view, matches);
    if (selected !== null && selected !== this.disk.model.root) this.cluster(ctx, view, selected, this.disk.colours.accent, false);
    if (hovered !== null && hovered !== selected) this.cluster(ctx, view, hovered, this.disk.colours.ink, true);
    if (focused && selected === this.disk.model.root) this.ring(ctx, view, selected, this.disk.colours.accent);
  }

  /** Draw an arc beyond the band and a ring around the node; with `edges` also the branches below it. */
  cluster(ctx, view, v, colour, edges) {
    const { scene, model } = this.disk;
    ctx.strokeStyle = colour;
    ctx.lineCap = "round";
    ctx.lineWidth = 2.5;
    const from = view.boundary(model.lo[v]), to = view.boundary(model.hi[v]);
    const half = Math.max(0, 4 / this.disk.radius - (to - from)) / 2;
    this.disk.traceArc(ctx, this.disk.radius + 11, from - half, to + half);
    ctx.stroke();
    ctx.lineWidth = 1.2;
    ctx.beginPath();
    for (let i = 0; edges && i < scene.count; i++) {
      if (scene.above[i] >= 0 && scene.node[i] !== v && model.isWithin(scene.node[i], v)) this.disk.traceGeodesic(ctx, scene.above[i], i);
    }
    ctx.globalAlpha = 0.55;
    ctx.stroke();
    ctx.globalAlpha = 1;
    this.ring(ctx, view, v, colour);
  }

  ring(ctx, view, v, colour) {
    const place = [0, 0];
    view.project(this.disk.model.angle[v], this.disk.model.grown[v], this.disk.model.faded[v], place);
    const near = 1 - place[0] * place[0] - place[1] * place[1];
    const pictured = v < this.disk.model.n && this.disk.thumbs.ready && near > PICTURED;
    ctx.beginPath();
    ctx.arc(this.disk.screenX(place[0]), this.disk.screenY(place[1]), pictured ? 0.8 * this.disk.pictureSize(near) : 6.5, 0, TAU);
    ctx.fillStyle = this.disk.colours.disk;
    if (!pictured) ctx.fill();
    ctx.lineWidth = 2.2;
    ctx.strokeStyle = colour;
    ctx.stroke();
  }

  matches(ctx, view, matches) {
    const place = [0, 0];
    const skip = Math.max(1, Math.ceil(matches.length / 4000));
    ctx.fillStyle = this.disk.colours.accent;
    ctx.strokeStyle = this.disk.colours.disk;
    ctx.lineWidth = 1;
    for (let k = 0; k < matches.length; k += skip) {
      const leaf = matches[k];
      view.project(this.disk.model.angle[leaf], this.disk.model.grown[leaf], this.disk.model.faded[leaf], place);
      // The dot is drawn below the picture, so as not to cover it.
      const near = 1 - place[0] * place[0] - place[1] * place[1];
      const down = this.disk.thumbs.ready && near > PICTURED ? this.disk.pictureSize(near) / 2 + 5 : 0;
      ctx.beginPath();
      ctx.arc(this.disk.screenX(place[0]), this.disk.screenY(place[1]) + down, 4, 0, TAU);
      ctx.fill();
      ctx.stroke();
    }
  }
}
