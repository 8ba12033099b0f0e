/* Export of the view as one picture with a title and a legend, drawn by the same code as the page. */

const LEGEND = 190;
const HEAD = 40;

class Picture {
  constructor(explorer) {
    this.explorer = explorer;
    const { disk, dendrogram, heatmap } = explorer;
    this.below = heatmap.strips || heatmap.rows ? heatmap.height : 0;
    this.width = disk.width + LEGEND;
    this.height = HEAD + disk.height + dendrogram.height + this.below;
  }

  async blob(kind) {
    if (kind === "svg") {
      const svg = new Svg(this.width, this.height);
      this.paint(svg);
      return new Blob([svg.text()], { type: "image/svg+xml" });
    }
    const canvas = document.createElement("canvas");
    canvas.width = 2 * this.width;
    canvas.height = 2 * this.height;
    const ctx = canvas.getContext("2d");
    ctx.scale(2, 2);
    this.paint(ctx);
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  }

  paint(ctx) {
    const { explorer } = this;
    const { colours, disk, dendrogram, heatmap, model, view } = explorer;
    ctx.fillStyle = colours.paper;
    ctx.fillRect(0, 0, this.width, this.height);
    this.write(ctx, model.title, 16, HEAD / 2, colours.ink, 16);
    const panes = [
      [disk.height, () => disk.paint(ctx, view, explorer.favoured())],
      [dendrogram.height, () => dendrogram.paint(ctx, { selected: null, hovered: null })],
      [this.below, () => this.below && heatmap.paint(ctx)],
    ];
    let y = HEAD;
    for (const [height, paint] of panes) {
      ctx.save();
      ctx.translate(0, y);
      paint();
      ctx.restore();
      y += height;
    }
    this.legend(ctx, disk.width + 8, HEAD + 14);
  }

  write(ctx, text, x, y, colour, size = 12) {
    ctx.font = `${size}px ${FONT}`;
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    ctx.fillStyle = colour;
    ctx.fillText(text, x, y);
  }

  /** Draw the legend: colours under the name of their column, as many as fit. */
  legend(ctx, x, y) {
    const { colours, model } = this.explorer;
    const { column } = colours;
    const clip = (name) => (name.length > 24 ? name.slice(0, 23) + "…" : name);
    this.write(ctx, clip(column ? column.name : "cluster"), x, y, colours.ink, 13);
    if (column?.values) return this.scale(ctx, column, x, y + 16);
    const entries = column
      ? column.classes.map((name, code) => [name || "(empty)", colours.table[colours.of(column, code)]])
      : model.clusters.map((root, index) => [`${model.numbers[index]} (${number(model.clusterPoints(index))})`, colours.table[colours.cluster(index)], model.numbers[index]]).sort((a, b) => a[2] - b[2]);
    if (column?.missing()) entries.push(["missing", colours.table[colours.missing]]);
    const room = Math.floor((this.height - y) / 18) - 2;
    entries.slice(0, room).forEach(([name, colour], k) => {
      ctx.beginPath();
      ctx.arc(x + 5, y + 20 + 18 * k, 5, 0, TAU);
      ctx.fillStyle = colour;
      ctx.fill();
      this.write(ctx, clip(name), x + 16, y + 20 + 18 * k, colours.muted);
    });
    if (entries.length > room) this.write(ctx, `and ${number(entries.length - room)} more`, x + 16, y + 20 + 18 * room, colours.muted);
  }

  scale(ctx, column, x, y) {
    const { colours } = this.explorer;
    const steps = colours.scale(column), wide = 150 / steps.length;
    steps.forEach((colour, k) => {
      ctx.fillStyle = colour;
      ctx.fillRect(x + k * wide, y, wide + 0.5, 10);
    });
    this.write(ctx, short(column.low), x, y + 20, colours.muted);
    ctx.textAlign = "right";
    ctx.fillText(short(column.high), x + 150, y + 20);
  }
}
