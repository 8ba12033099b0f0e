/* Thumbnails, cut from one sprite. Line drawings are a mask of ink and take any colour; photographs get a coloured frame. */

class Thumbs {
  constructor(sprite) {
    this.sprite = sprite;
    this.ready = sprite !== null;
    this.cache = new Map();
  }

  async load() {
    if (!this.sprite) return;
    this.image = new Image();
    this.image.src = this.sprite.uri;
    await this.image.decode();
  }

  source(leaf) {
    const { columns, width, height } = this.sprite;
    return [(leaf % columns) * width, Math.floor(leaf / columns) * height, width, height];
  }

  /** Return the drawing of a leaf in one colour, cached for the next frame. */
  inked(leaf, colour) {
    const key = leaf + colour;
    let canvas = this.cache.get(key);
    if (canvas) return canvas;
    if (this.cache.size > 6000) this.cache.clear();
    canvas = document.createElement("canvas");
    canvas.width = this.sprite.width;
    canvas.height = this.sprite.height;
    const ctx = canvas.getContext("2d");
    ctx.drawImage(this.image, ...this.source(leaf), 0, 0, canvas.width, canvas.height);
    ctx.globalCompositeOperation = "source-in";
    ctx.fillStyle = colour;
    ctx.fillRect(0, 0, canvas.width, canvas.height);
    this.cache.set(key, canvas);
    return canvas;
  }

  /** Draw the picture of a leaf around (x, y), at most `size` wide and high; `bare` leaves out the plate behind it. */
  draw(ctx, leaf, x, y, size, colour, bare = false) {
    const { width, height, ink } = this.sprite;
    const scale = size / Math.max(width, height);
    const w = width * scale, h = height * scale;
    if (!ink || !bare) {
      ctx.beginPath();
      ctx.roundRect(x - w / 2 - 1, y - h / 2 - 1, w + 2, h + 2, 4);
      ctx.fillStyle = this.plate;
      ctx.fill();
      ctx.lineWidth = ink ? 1 : 2;
      ctx.strokeStyle = colour;
      ctx.stroke();
    }
    if (ink) {
      ctx.drawImage(this.inked(leaf, colour), x - w / 2, y - h / 2, w, h);
      return;
    }
    ctx.save();
    ctx.beginPath();
    ctx.roundRect(x - w / 2, y - h / 2, w, h, 3);
    ctx.clip();
    ctx.drawImage(this.image, ...this.source(leaf), x - w / 2, y - h / 2, w, h);
    ctx.restore();
  }

  /** Create a small canvas with the picture of a leaf, for lists and the tooltip. */
  element(leaf, size, colour) {
    const canvas = document.createElement("canvas");
    canvas.className = "thumb";
    canvas.width = canvas.height = 2 * size;
    canvas.style.width = canvas.style.height = size + "px";
    canvas.setAttribute("aria-hidden", "true");
    this.draw(canvas.getContext("2d"), leaf, size, size, 2 * size - 4, colour, true);
    return canvas;
  }
}
