/* Isometries of the Poincaré disk that stay accurate far from the origin.
 *
 * A point is given by its angle and its hyperbolic depth, never by coordinates: near the boundary these round to the same
 * number. A view is the isometry that brings the point (alpha, distance) to the centre and then turns by beta. In the half
 * plane whose axis is the ray of angle alpha, it is a mere scaling by e^distance, so nothing cancels, down to gaps of 1e-11. */

const TAU = 2 * Math.PI;
// e^26 times the rounding of an angle, 4e-16, is still far below a pixel.
const MAX_DEPTH = 26;

/** Return the depth of the LCA of two ideal points `gap` apart: −log tan(gap / 4), at most MAX_DEPTH. */
function lcaDepth(gap) {
  return Math.min(MAX_DEPTH, Math.max(0, -Math.log(Math.tan(Math.min(gap, Math.PI) / 4))));
}

/** Return the distance of the half-plane point (x, y) to i; exact for near and for far points. */
function halfPlaneDistance(x, y) {
  return 2 * Math.asinh(Math.hypot(x, y - 1) / (2 * Math.sqrt(y)));
}

class View {
  constructor(alpha = 0, distance = 0, beta = alpha) {
    this.set(alpha, distance, beta);
  }

  set(alpha, distance, beta) {
    const turns = Math.round(alpha / TAU);
    this.alpha = alpha - TAU * turns;
    this.distance = Math.min(MAX_DEPTH, distance);
    this.beta = beta - TAU * Math.round(beta / TAU);
    this.scale = Math.exp(this.distance);
    this.cos = Math.cos(this.beta);
    this.sin = Math.sin(this.beta);
  }

  /** Return the angle on the screen of the ideal point `theta`; increasing and continuous in theta. */
  boundary(theta) {
    const phi = theta - this.alpha;
    return this.beta + 2 * Math.atan(this.scale * Math.tan(phi / 2)) + TAU * Math.round(phi / TAU);
  }

  /** Return the half-plane coordinates of a point with angle theta, `grown` = sinh(depth), `faded` = e^−depth. */
  halfPlane(theta, grown, faded) {
    const t = Math.tan((theta - this.alpha) / 2);
    const q = 1 + t * t;
    const s = this.scale / (faded * q + 2 * grown);
    return [2 * t * grown * s, q * s];
  }

  /** Write the coordinates in the unit disk of the screen to out[0], out[1]. */
  project(theta, grown, faded, out) {
    const t = Math.tan((theta - this.alpha) / 2);
    const q = 1 + t * t;
    const s = this.scale / (faded * q + 2 * grown);
    const x = 2 * t * grown * s;
    const y = q * s;
    const d = x * x + (1 + y) * (1 + y);
    const u = (1 - x * x - y * y) / d;
    const v = (2 * x) / d;
    out[0] = u * this.cos - v * this.sin;
    out[1] = u * this.sin + v * this.cos;
  }

  /** Return the distance and direction of the point (theta, depth) from the centre of the screen. */
  locate(theta, depth) {
    const [x, y] = this.halfPlane(theta, Math.sinh(depth), Math.exp(-depth));
    return { distance: halfPlaneDistance(x, y), direction: this.beta + Math.atan2(2 * x, 1 - x * x - y * y) };
  }

  /** Return the angle and depth of the point shown at (u, v). */
  preimage(u, v) {
    const x = u * this.cos + v * this.sin;
    const y = v * this.cos - u * this.sin;
    const d = ((1 + x) * (1 + x) + y * y) * this.scale;
    const hx = (2 * y) / d;
    const hy = (1 - x * x - y * y) / d;
    return { turn: Math.atan2(2 * hx, 1 - hx * hx - hy * hy), depth: halfPlaneDistance(hx, hy) };
  }

  /** Move everything on the screen by the translation that takes the centre to (u, v). */
  translate(u, v) {
    const { turn, depth } = this.preimage(-u, -v);
    // The ray towards the new centre's end point fixes the rotation.
    const psi = this.beta + 2 * Math.atan(this.scale * Math.tan(turn / 2));
    const c = Math.cos(psi), s = Math.sin(psi);
    const nx = c + u, ny = s + v;
    const dx = 1 + u * c + v * s, dy = u * s - v * c;
    this.set(this.alpha + turn, depth, Math.atan2(ny * dx - nx * dy, nx * dx + ny * dy));
  }

  /** Move what lies in `direction` by `step` towards the centre. */
  approach(direction, step) {
    const r = -Math.tanh(step / 2);
    this.translate(r * Math.cos(direction), r * Math.sin(direction));
  }

  /** Move the point shown at p to q, both [u, v] inside the disk, by a translation through the centre. */
  drag(p, q) {
    const dx = q[0] - p[0], dy = q[1] - p[1];
    const mx = q[0] * p[0] - q[1] * p[1], my = q[0] * p[1] + q[1] * p[0];
    const norm = 1 - (q[0] * q[0] + q[1] * q[1]) * (p[0] * p[0] + p[1] * p[1]);
    this.translate((dx + mx * dx + my * dy) / norm, (dy + my * dx - mx * dy) / norm);
  }

  rotate(angle) {
    this.set(this.alpha, this.distance, this.beta + angle);
  }
}
