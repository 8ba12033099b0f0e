/* Event handlers: buttons and fields, pointer, keyboard. */

class Controls {
  constructor(explorer) {
    this.explorer = explorer;
    this.listenToControls();
    this.listenToPointer();
    this.listenToDendrogram();
    this.listenToHeatmap();
    this.listenToKeys();
  }

  listenToControls() {
    const { explorer } = this;
    const on = (id, event, action) => explorer.byId(id).addEventListener(event, action);
    on("slider", "input", (event) => explorer.setCut(explorer.sliderToCut(Number(event.target.value))));
    on("clusters", "change", (event) => explorer.setCut(Number(event.target.value)));
    on("fewer", "click", () => explorer.setCut(explorer.model.k - 1));
    on("more", "click", () => explorer.setCut(explorer.model.k + 1));
    on("as-found", "click", () => explorer.setCut(explorer.model.found));
    on("outliers", "click", () => explorer.toggleOutliers());
    on("least", "input", (event) => explorer.setLeast(Number(event.target.value)));
    on("colour", "change", (event) => explorer.colourBy(event.target.value));
    on("heat", "click", () => explorer.showFeatures(!explorer.heatmap.shown));
    on("png", "click", () => explorer.exportPicture("png"));
    on("svg", "click", () => explorer.exportPicture("svg"));
    on("search", "input", () => explorer.updateSearch());
    on("search", "keydown", (event) => {
      if (event.key === "Enter") explorer.nextMatch(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") explorer.lookFor("");
    });
    on("export", "click", () => explorer.export());
    on("centre", "click", () => explorer.flyTo(explorer.state.selected));
    on("up", "click", () => explorer.select(explorer.model.parent[explorer.state.selected], true));
    on("zoom-in", "click", () => explorer.zoomTo(1));
    on("zoom-out", "click", () => explorer.zoom(-0.8));
    on("home", "click", () => explorer.goHome());
    on("rank", "click", (event) => explorer.toggleRank(event.currentTarget));
    on("help", "click", () => explorer.byId("help-page").showModal());
    on("theme", "click", () => explorer.toggleTheme());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => explorer.adoptTheme());
  }

  listenToPointer() {
    const { explorer } = this;
    const disk = explorer.byId("disk");
    const fingers = new Map();
    let moved = 0, spread = 0;
    const place = (event) => {
      const box = disk.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    disk.addEventListener("pointerdown", (event) => {
      disk.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, place(event));
      moved = 0;
      spread = 0;
    });
    disk.addEventListener("pointermove", (event) => {
      const now = place(event);
      const before = fingers.get(event.pointerId);
      if (!before) return explorer.hover(explorer.disk.pick(...now), event.clientX, event.clientY);
      moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
      fingers.set(event.pointerId, now);
      if (moved < 5) return;
      explorer.hover(null);
      explorer.flight = null;
      if (fingers.size === 2) {
        const [a, b] = [...fingers.values()];
        const apart = Math.hypot(a[0] - b[0], a[1] - b[1]);
        if (spread) explorer.zoom(3 * Math.log(apart / spread), ...explorer.disk.at((a[0] + b[0]) / 2, (a[1] + b[1]) / 2));
        spread = apart;
      } else {
        explorer.view.drag(explorer.disk.at(...before), explorer.disk.at(...now));
        explorer.redraw();
      }
    });
    const release = (event) => {
      const here = fingers.get(event.pointerId);
      fingers.delete(event.pointerId);
      if (event.type !== "pointerup" || !here || moved >= 5) return;
      const node = explorer.disk.pick(...here, event.pointerType === "touch" ? 24 : 13);
      if (node !== null) explorer.select(node);
    };
    disk.addEventListener("pointerup", release);
    disk.addEventListener("pointercancel", release);
    disk.addEventListener("pointerleave", () => explorer.hover(null));
    disk.addEventListener("dblclick", (event) => {
      const node = explorer.disk.pick(...place(event), 24);
      if (node !== null) explorer.select(node, true);
    });
    disk.addEventListener("wheel", (event) => {
      event.preventDefault();
      const pixels = event.deltaY * (event.deltaMode === 1 ? 30 : 1);
      explorer.zoom(Math.max(-0.6, Math.min(0.6, -pixels / 220)), ...explorer.disk.at(...place(event)));
    }, { passive: false });
  }

  listenToDendrogram() {
    const { explorer } = this;
    const canvas = explorer.byId("dendrogram");
    const pick = (event) => {
      const box = canvas.getBoundingClientRect();
      return explorer.dendrogram.pick(event.clientX - box.left, event.clientY - box.top);
    };
    canvas.addEventListener("pointermove", (event) => explorer.hover(pick(event), event.clientX, event.clientY));
    canvas.addEventListener("pointerleave", () => explorer.hover(null));
    canvas.addEventListener("click", (event) => {
      const node = pick(event);
      if (node !== null) explorer.select(node);
    });
    canvas.addEventListener("dblclick", (event) => {
      const node = pick(event);
      if (node !== null) explorer.select(node, true);
    });
  }

  /** Show a tooltip for cells of the heat map; a click selects the cluster above them. */
  listenToHeatmap() {
    const { explorer } = this;
    const canvas = explorer.byId("heatmap");
    const pick = (event) => {
      const box = canvas.getBoundingClientRect(), x = event.clientX - box.left;
      return [explorer.dendrogram.pick(x, explorer.dendrogram.height), explorer.heatmap.told(x, event.clientY - box.top)];
    };
    canvas.addEventListener("pointermove", (event) => {
      const [node, told] = pick(event);
      if (told === null) explorer.hover(null);
      else explorer.hover(node, event.clientX, event.clientY, told);
    });
    canvas.addEventListener("pointerleave", () => explorer.hover(null));
    canvas.addEventListener("click", (event) => {
      const [node] = pick(event);
      if (node !== null) explorer.select(node);
    });
  }

  listenToKeys() {
    const { explorer } = this;
    for (const id of ["disk", "dendrogram"]) {
      explorer.byId(id).addEventListener("keydown", (event) => this.walk(event));
      explorer.byId(id).addEventListener("focus", () => this.focusChanged(true));
      explorer.byId(id).addEventListener("blur", () => this.focusChanged(false));
    }
    document.addEventListener("keydown", (event) => {
      const typing = event.target.closest("input[type=search], input[type=number], dialog");
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      const action = {
        "+": () => explorer.zoomTo(0.8), "=": () => explorer.zoomTo(0.8), "-": () => explorer.zoom(-0.8), "0": () => explorer.goHome(),
        "/": () => explorer.byId("search").focus(), "?": () => explorer.byId("help-page").showModal(), "[": () => explorer.setCut(explorer.model.k - 1),
        "]": () => explorer.setCut(explorer.model.k + 1), c: () => explorer.toggleColour(),
        h: () => explorer.showFeatures(!explorer.heatmap.shown),
        d: () => explorer.toggleTheme(), e: () => explorer.export(), Escape: () => explorer.lookFor(""),
      }[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    });
  }

  focusChanged(focused) {
    const { explorer } = this;
    explorer.state.focused = focused;
    explorer.redraw(false);
  }

  /** Handle arrow keys: up to the parent, down to the larger child, sideways to the sibling; with shift they move the disk. */
  walk(event) {
    const { explorer } = this;
    const { model, view } = explorer;
    const v = explorer.state.selected;
    const arrow = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key];
    if (event.key === "Enter") explorer.flyTo(v);
    else if (event.key === "Home") explorer.goHome();
    else if (!arrow) return;
    else if (event.shiftKey) {
      view.translate(-0.15 * arrow[0], -0.15 * arrow[1]);
      explorer.redraw();
    } else {
      const next = this.neighbour(v, event.key);
      if (next >= 0) explorer.select(next);
      const { distance } = view.locate(model.angle[explorer.state.selected], model.depth[explorer.state.selected]);
      if (next >= 0 && distance > 2.5) explorer.flyTo(next);
    }
    event.preventDefault();
  }

  neighbour(v, key) {
    const { explorer } = this;
    const { model } = explorer;
    if (key === "ArrowUp") return model.parent[v];
    if (key === "ArrowDown") return v < model.n ? -1 : model.size[model.left(v)] >= model.size[model.right(v)] ? model.left(v) : model.right(v);
    const parent = model.parent[v];
    if (parent < 0) return -1;
    const sibling = key === "ArrowLeft" ? model.left(parent) : model.right(parent);
    return sibling === v ? -1 : sibling;
  }
}
