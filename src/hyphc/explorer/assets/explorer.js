/* State and actions of the page, and the loop that draws. */

const FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
const SLIDER = 1000;

class Explorer {
  constructor(data) {
    this.byId = (id) => document.getElementById(id);
    this.model = new Model(data);
    this.model.cut(this.model.opening, true);
    this.colours = new Colours(this.model);
    this.thumbs = new Thumbs(this.model.sprite);
    this.disk = new Disk(this.byId("disk"), this.model, this.colours, this.thumbs);
    this.overlay = new Overlay(this.byId("overlay"), this.disk);
    this.across = new Across(this.model);
    this.dendrogram = new Dendrogram(this.byId("dendrogram"), this.model, this.colours, this.across);
    this.heatmap = new Heatmap(this.byId("heatmap"), this.model, this.colours, this.across);
    this.search = new Search(this.model);
    this.panel = new Panel(this.model, this.colours, this.thumbs, {
      go: (node) => this.select(node, true),
      hover: (node) => this.hover(node),
      lookFor: (text) => this.lookFor(text),
    });
    this.view = new View();
    this.state = { selected: this.model.root, hovered: null, matches: [], focused: false };
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    this.frames = 0;
  }

  async start() {
    await this.thumbs.load();
    this.describe();
    this.jumpHome();
    new Controls(this);
    this.adoptTheme();
    new ResizeObserver(() => this.resize()).observe(this.byId("stage"));
    this.resize();
    this.setCut(this.model.opening);
    this.select(this.model.root);
    document.documentElement.dataset.ready = "true";
  }

  describe() {
    const { model } = this;
    const groups = model.points > model.n ? `, shown as ${number(model.n)} groups` : "";
    const cost = model.cost === null ? "" : ` · Dasgupta cost ${model.cost.toPrecision(6)}`;
    const gaps = model.features ? model.features.reduce((count, value) => count + !Number.isFinite(value), 0) : 0;
    const missing = gaps ? ` · ${number(gaps)} of ${number(model.features.length)} values missing: grey in the heat map` : "";
    const prefix = model.prefix() && model.ownName(0, 12) !== model.name(0) ? ` · names without “${model.prefix()}”` : "";
    this.byId("facts").textContent = points(model.points) + groups + cost + missing + prefix;
    this.byId("support-choice").hidden = !model.support;
    this.listColours();
    this.byId("heat").hidden = !model.features;
    // The heat map is off at first where thumbnails show the features already, or where there is little room.
    this.showFeatures(Boolean(model.features) && !this.thumbs.ready && innerHeight > 640 && innerWidth > 760);
    this.byId("disk").setAttribute("aria-label", `Poincaré disk with the tree of ${points(model.points)}. Arrow keys walk the tree, Enter centres, plus and minus zoom.`);
    this.byId("rank").setAttribute("aria-pressed", String(this.dendrogram.byRank));
    this.byId("clusters").min = model.fewest;
    this.byId("clusters").max = model.most;
    this.byId("slider").max = SLIDER;
    this.byId("as-found").hidden = model.found === null;
  }

  /** List what leaves can be coloured by: clusters, labels, annotations, features. */
  listColours() {
    const { model } = this;
    const option = (value, text) => element("option", { value }, text);
    const listed = [option("cluster", "cluster"), ...model.columns.map((column, k) => option(`column ${k}`, column.name))];
    const features = (model.featureNames || []).slice(0, 1000).map((name, j) => option(`feature ${j}`, name));
    if (features.length) listed.push(element("optgroup", { label: "features" }, ...features));
    this.byId("colour").replaceChildren(...listed);
    this.byId("colour-choice").hidden = listed.length === 1;
    this.byId("colour").value = this.colours.column ? "column 0" : "cluster";
  }

  showFeatures(shown) {
    this.heatmap.shown = shown && Boolean(this.model.features);
    this.byId("heat").setAttribute("aria-pressed", String(this.heatmap.shown));
    if (this.disk.width) this.resize();
  }

  /* ---- drawing ---- */

  resize() {
    const stage = this.byId("stage"), below = this.heatmap.wanted(Math.max(stage.clientHeight, 500));
    stage.style.setProperty("--below", below + "px");
    stage.classList.toggle("heated", this.heatmap.rows > 0);
    this.disk.resize();
    fit(this.overlay.canvas);
    this.dendrogram.resize();
    this.heatmap.resize();
    this.dendrogram.more = this.heatmap.thinned();
    this.redraw();
  }

  /** Request a frame; several requests are merged. */
  redraw(everything = true) {
    this.stale = this.stale || everything;
    this.requested ??= requestAnimationFrame((now) => this.frame(now));
  }

  frame(now) {
    this.requested = null;
    if (this.flight) this.fly(now);
    const stale = this.stale;
    if (stale) this.disk.draw(this.view, this.favoured());
    this.stale = false;
    if (stale) this.dendrogram.lay(this.view, this.heatmap.strips || this.heatmap.rows);
    this.dendrogram.draw(this.state);
    if (stale) this.heatmap.draw();
    this.overlay.draw(this.view, this.state);
    this.frames++;
    if (this.flight) this.redraw();
  }

  /** Return the leaves whose names have priority. */
  favoured() {
    return this.state.selected < this.model.n ? [this.state.selected] : [];
  }

  adoptTheme() {
    const chosen = document.documentElement.dataset.theme;
    const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    this.colours.adopt(dark);
    this.thumbs.plate = this.colours.disk;
    this.thumbs.cache.clear();
    this.byId("theme").setAttribute("aria-pressed", String(dark));
    if (this.panel.selected !== undefined) {
      this.panel.showLegend();
      this.panel.showSelection(this.state.selected);
    }
    this.redraw();
  }

  /* ---- moving ---- */

  jumpHome() {
    const { angle, depth, root } = this.model;
    this.view.set(angle[root], depth[root], angle[root]);
    this.redraw();
  }

  /** Move a node to the centre; for a leaf, a small cluster around it. */
  flyTo(node, upright = false) {
    const target = node < this.model.n ? this.around(node) : node;
    const { distance } = this.view.locate(this.model.angle[target], this.model.depth[target]);
    const time = this.calm.matches ? 0 : Math.min(1500, 350 + 130 * distance);
    this.flight = { target, upright, distance, time, begun: null };
    this.redraw();
  }

  /** Return the cluster to centre for a leaf: about eight leaves, but not so large that the leaf is hard to see. */
  around(leaf) {
    const { parent, size, depth, root } = this.model;
    let v = leaf;
    while (v !== root && (v === leaf || (size[v] < 8 && depth[leaf] - depth[parent[v]] < 4))) v = parent[v];
    return v;
  }

  fly(now) {
    const flight = this.flight;
    flight.begun ??= now;
    const t = flight.time ? Math.min(1, (now - flight.begun) / flight.time) : 1;
    const eased = t < 0.5 ? 4 * t * t * t : 1 - (2 - 2 * t) ** 3 / 2;
    const { angle, depth } = this.model;
    const { distance, direction } = this.view.locate(angle[flight.target], depth[flight.target]);
    this.view.approach(direction, distance - flight.distance * (1 - eased));
    if (flight.upright) this.straighten(t < 1 ? 0.2 * eased : 1);
    if (t >= 1) this.flight = null;
  }

  /** Rotate towards the orientation of the embedding by a share of the difference. */
  straighten(share) {
    const off = this.view.beta - this.view.alpha;
    this.view.rotate(-share * (off - TAU * Math.round(off / TAU)));
  }

  goHome() {
    this.flyTo(this.model.root, true);
  }

  /** Zoom in towards the point (u, v) of the screen, or out towards the root. */
  zoom(step, u = 0, v = 0) {
    this.flight = null;
    if (step > 0) {
      // With the pointer at the centre there is no direction but onwards, away from the root.
      const onwards = this.view.distance > 0.05 ? 0.25 : 0;
      const x = u + onwards * this.view.cos, y = v + onwards * this.view.sin;
      const reach = Math.min(1, 1.8 * Math.hypot(x, y));
      if (this.view.distance + step < MAX_DEPTH) this.view.approach(Math.atan2(y, x), step * reach);
    } else {
      const { angle, depth, root } = this.model;
      const { distance, direction } = this.view.locate(angle[root], depth[root]);
      const move = Math.min(distance, -step);
      this.view.approach(direction, move);
      if (distance < 2) this.straighten(distance > move ? move / distance : 1);
    }
    this.redraw();
  }

  /* ---- choosing ---- */

  select(node, move = false) {
    this.state.selected = node;
    this.panel.showSelection(node);
    this.byId("said").textContent = this.panel.spoken(node);
    if (move) this.flyTo(node, node === this.model.root);
    this.redraw();
  }

  /** Show the tooltip of the node under the pointer; `more` is a line about the cell of the heat map. */
  hover(node, px = 0, py = 0, more = "") {
    const tip = this.byId("tooltip");
    if (node !== this.state.hovered || more !== this.state.more) {
      Object.assign(this.state, { hovered: node, more });
      this.redraw(false);
      if (node !== null) tip.replaceChildren(...(more ? [element("strong", {}, more)] : []), ...this.panel.tooltip(node));
    }
    tip.hidden = node === null || !px;
    if (tip.hidden) return;
    const { width, height } = tip.getBoundingClientRect();
    const edge = this.byId("stage").getBoundingClientRect().right;
    tip.style.left = Math.max(8, px + 18 + width > edge - 8 ? px - width - 18 : px + 18) + "px";
    tip.style.top = Math.max(8, py + 18 + height > innerHeight - 8 ? py - height - 14 : py + 18) + "px";
  }

  /** Cut into k clusters. */
  setCut(k) {
    const { model } = this;
    model.cut(Math.max(model.fewest, Math.min(model.most, Math.round(k) || 1)));
    k = model.k;
    this.byId("as-found").setAttribute("aria-pressed", String(k === model.found));
    const joined = model.joined();
    this.byId("outliers").hidden = joined === 0;
    this.byId("outliers").textContent = `Label ${points(joined)} as outlier${joined === 1 ? "" : "s"}`;
    this.byId("outliers").setAttribute("aria-checked", String(model.labelsOutliers));
    this.byId("cut-words").textContent = this.panel.cutWords(this.dendrogram.cutLevel());
    this.byId("clusters").value = k;
    const slider = this.byId("slider");
    const now = Math.round(SLIDER * (model.n > 1 ? Math.log(k) / Math.log(model.n) : 0));
    if (this.sliderToCut(Number(slider.value)) !== k) slider.value = now;
    slider.setAttribute("aria-valuetext", k === 1 ? "1 cluster" : `${k} clusters`);
    slider.style.setProperty("--share", (100 * Number(slider.value)) / SLIDER + "%");
    if (model.support) this.setLeast(model.least);
    this.panel.showLegend();
    this.panel.showSelection(this.state.selected);
    this.redraw();
  }

  /** Label points that joined a cluster from above its core as outliers, or let them join again. */
  toggleOutliers() {
    this.model.labelsOutliers = !this.model.labelsOutliers;
    this.setCut(this.model.k);
  }

  /** Draw clusters with less support than this faintly. */
  setLeast(least) {
    const { model } = this;
    model.least = least;
    const slider = this.byId("least");
    slider.value = least;
    slider.style.setProperty("--share", 100 * least + "%");
    this.byId("least-value").textContent = least.toFixed(2);
    const sure = model.clusters.filter((v) => !model.isWeak(v)).length;
    this.byId("least-note").textContent = least > 0 ? `${number(sure)} of ${number(model.clusters.length)} clusters of the cut have it` : "";
    this.panel.showLegend();
    this.redraw();
  }

  /** The slider is logarithmic: from 1 to 20 clusters takes as long as from 20 to 400. */
  sliderToCut(value) {
    return Math.round(Math.pow(this.model.n, value / SLIDER));
  }

  /** Colour by "cluster", by "label" or "column k", or by "feature j". */
  colourBy(choice) {
    const { model, colours } = this;
    const value = choice === "label" ? "column 0" : choice, k = Number(value.split(" ")[1]);
    colours.by(value.startsWith("column") ? model.columns[k] ?? null : value.startsWith("feature") ? featureColumn(model, k) : null);
    this.byId("colour").value = value;
    this.setCut(model.k);
  }

  /** Toggle between clusters and the column that was chosen last. */
  toggleColour() {
    const { colours, model } = this;
    if (!colours.last) return;
    const at = model.columns.indexOf(colours.last);
    this.colourBy(colours.column ? "cluster" : at >= 0 ? `column ${at}` : `feature ${model.featureColumns.indexOf(colours.last)}`);
  }

  lookFor(text) {
    this.byId("search").value = text;
    this.updateSearch();
  }

  updateSearch() {
    const text = this.byId("search").value;
    this.state.matches = this.search.find(text);
    this.visited = -1;
    const found = this.state.matches.length;
    this.byId("found").textContent = text.trim() ? (found === 1 ? "1 match" : `${number(found)} matches`) : "";
    this.redraw(false);
  }

  /** Go to the next match, or to the previous one. */
  nextMatch(step) {
    const { matches } = this.state;
    if (!matches.length) return;
    this.visited = this.visited < 0 && step < 0 ? matches.length - 1 : (this.visited + step + matches.length) % matches.length;
    this.byId("found").textContent = `${number(this.visited + 1)} of ${number(matches.length)}`;
    this.select(matches[this.visited], true);
  }

  export() {
    const { model, state } = this;
    const text = new Blob(["\ufeff" + model.csv(state.selected)], { type: "text/csv;charset=utf-8" });
    this.save(text, `cluster-${state.selected}-${model.size[state.selected]}.csv`);
    this.byId("said").textContent = `Exported ${points(model.weight[state.selected])}.`;
  }

  /** Export the view as a picture: "png", twice as fine as the screen, or "svg". */
  async exportPicture(kind) {
    this.save(await new Picture(this).blob(kind), `tree.${kind}`);
    this.byId("said").textContent = `Exported tree.${kind}.`;
  }

  save(blob, name) {
    const url = URL.createObjectURL(blob);
    const link = element("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }

  toggleRank(button) {
    this.dendrogram.byRank = !this.dendrogram.byRank;
    button.setAttribute("aria-pressed", String(this.dendrogram.byRank));
    this.redraw(false);
  }

  toggleTheme() {
    const dark = this.byId("theme").getAttribute("aria-pressed") === "true";
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    this.adoptTheme();
  }

  /** Zoom towards the selected node, or onwards when all is selected. */
  zoomTo(step) {
    const { selected } = this.state;
    const { distance, direction } = this.view.locate(this.model.angle[selected], this.model.depth[selected]);
    if (selected === this.model.root || distance < 0.05) this.zoom(step, this.view.cos * 0.5, this.view.sin * 0.5);
    else {
      this.flight = null;
      this.view.approach(direction, Math.min(step, distance));
      this.redraw();
    }
  }
}
