/* The side panel: clusters of the cut, the selected cluster with its members, the search. Everything from the data is text. */

const ROW = 30;
const LISTED = 60;

/** Create an element with attributes and children; strings become text, never markup. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function number(value) {
  return value.toLocaleString("en").replaceAll(",", "\u202f");
}

/** Return "2nd", "3rd", "4th", … */
function ordinal(k) {
  return k + (k % 100 > 10 && k % 100 < 14 ? "th" : ["th", "st", "nd", "rd"][k % 10] ?? "th");
}

function short(value) {
  return Number.isFinite(value) ? String(parseFloat(value.toPrecision(3))) : "–";
}

function points(count) {
  return count === 1 ? "1 point" : `${number(count)} points`;
}

function swatch(colour) {
  const made = element("span", { class: "swatch", "aria-hidden": "true" });
  made.style.background = colour;
  return made;
}

class Panel {
  /** `act` has go(node), hover(node) and lookFor(text). */
  constructor(model, colours, thumbs, act) {
    Object.assign(this, { model, colours, thumbs, act });
    this.list = document.getElementById("members");
    this.list.addEventListener("scroll", () => this.fillMembers());
    this.list.addEventListener("keydown", (event) => this.walkMembers(event));
  }

  /** Return "Cluster of 182 points", or a leaf's name. */
  heading(node) {
    const { model } = this;
    if (node < model.n) return model.name(node);
    if (node === model.root) return `All ${points(model.weight[node])}`;
    const name = model.groupName(node);
    return name ? `${name} · ${points(model.weight[node])}` : `Cluster of ${points(model.weight[node])}`;
  }

  /** Describe a node for a screen reader: its name or size, labels, cluster and position in the tree. */
  spoken(node) {
    const { model } = this, said = [this.heading(node)];
    if (node < model.n) said.push(model.text(node), model.label(node));
    const index = model.clusterOf(node), parent = model.parent[node];
    if (index >= 0) said.push(model.isOutlier(node) ? "outlier" : `cluster ${model.numbers[index]}`);
    let depth = 0;
    for (let v = node; v !== model.root; v = model.parent[v]) depth++;
    if (parent >= 0) said.push(`${model.left(parent) === node ? "left" : "right"} part, ${depth} below the root`);
    return said.filter(Boolean).join(". ") + ".";
  }

  /** Explain the cut and the dashed line of the dendrogram in words; `level` is that of the line, null where it is not straight. */
  cutWords(level) {
    const { model } = this, { k, splits, turns, found } = model;
    const known = model.why ? `: ${model.why}` : "";
    const byFit = found === null ? "" : k === found ? ` As the fit found${known}.` : ` The fit found ${number(found)}${known}.`;
    if (k === 1) return `One cluster: nothing is cut.${byFit}`;
    const highest = k === 2 ? `the highest of ${number(splits)} splits is` : `the highest ${number(k - 1)} of ${number(splits)} splits are`;
    const how = k in model.cuts ? "those with the best score" : splits === 0 ? `${k === 2 ? "the last merge is" : `the last ${number(k - 1)} merges are`} undone`
      : k - 1 > splits ? `${splits === 1 ? "the only split" : `all ${number(splits)} splits`} and further merges are undone` : splits === 1 ? "the only split is undone" : level !== null ? `${highest} undone`
      : `${number(k - 1)} of ${number(splits)} splits ${k === 2 ? "is" : "are"} undone, those found by the fit first`;
    const line = level !== null ? "the dashed line" : model.parts.length > k ? "no line, since points from above it join clusters" : "a step of the dashed line for each";
    return `${number(k)} clusters: ${how} (${line}).${this.pWords(turns)}${byFit}`;
  }

  /** Return the largest p-value of the splits that the cut undoes, and that of the next one; an empty text if unknown. */
  pWords(turns) {
    const { model } = this, { k, pValues } = model;
    if (!pValues || !turns || k - 1 > model.splits) return "";
    const undone = [], next = [];
    turns.forEach((turn, t) => {
      if (turn < k) (turn < k - 1 ? undone : next).push(pValues[t]);
    });
    const told = (values) => values.filter((p) => !Number.isNaN(p)).map((p) => (p < 0.001 ? "< 0.001" : `= ${short(p)}`));
    const largest = told([undone.reduce((a, b) => (b > a || Number.isNaN(a) ? b : a), NaN)]), after = told(next);
    return largest.length ? ` Their largest p ${largest[0]}${after.length ? `; next split: p ${after[0]}` : ""}.` : "";
  }

  showLegend() {
    const legend = document.getElementById("legend");
    const { column } = this.colours;
    legend.setAttribute("aria-label", column ? column.name : "Clusters");
    legend.classList.toggle("pairs", Boolean(column?.classes) && column.classes.every((name) => name.length < 10));
    if (column?.values) return legend.replaceChildren(this.scaleRow(column), ...this.missingRow(column));
    const [rows, total] = column ? this.classRows(column) : this.clusterRows();
    legend.replaceChildren(...rows);
    if (total > rows.length) legend.append(element("li", { class: "more" }, `and ${number(total - rows.length)} more`));
  }

  clusterRows() {
    const { model, colours } = this;
    const largest = model.clusters.map((root, index) => [root, index]).sort((a, b) => model.clusterWeight[b[1]] - model.clusterWeight[a[1]] || a[1] - b[1]);
    const rows = largest.slice(0, LISTED).map(([root, index]) => {
      const [leader] = model.labelCounts(root);
      const note = leader ? `${model.labelName(leader[0])} ${Math.round((100 * leader[1]) / model.weight[root])}%` : "";
      return this.legendRow(colours.table[colours.cluster(index)], root < model.n ? model.name(root) : model.groupName(root) || `Cluster ${model.numbers[index]}`, note, model.clusterPoints(index), () => this.act.go(root), root);
    });
    if (model.labelsOutliers && model.joined() > 0) rows.push(this.legendRow(colours.muted, "outliers", "", model.joined(), () => {}, null));
    return [rows, largest.length + (rows.length > Math.min(LISTED, largest.length) ? 1 : 0)];
  }

  classRows(column) {
    const { model, colours } = this;
    const counts = new Float64Array(column.classes.length + 1);
    for (let i = 0; i < model.n; i++) counts[column.codes[i] + 1] += model.weight[i];
    const present = Array.from(counts.keys()).slice(1).filter((code) => counts[code] > 0);
    const isLabel = model.labels && column === model.columns[0];
    const rows = present.slice(0, LISTED).map((at) => {
      const name = column.classes[at - 1];
      return this.legendRow(colours.table[colours.of(column, at - 1)], name, "", counts[at], () => isLabel && this.act.lookFor(`label:${name}`), null);
    });
    rows.push(...this.missingRow(column));
    return [rows, present.length + (counts[0] > 0 ? 1 : 0)];
  }

  /** Create a bar from the smallest to the largest number of a column. */
  scaleRow(column) {
    const { colours } = this;
    const bar = element("div", { class: "scale", "aria-hidden": "true" });
    bar.style.background = `linear-gradient(90deg, ${colours.scale(column).join(", ")})`;
    column.sums();
    const ends = element("div", { class: "line count" }, element("span", { class: "grow" }, short(column.low)), element("span", {}, short(column.high)));
    return element("li", {}, bar, ends);
  }

  /** Return the number of missing values of a column as text, if there are any. */
  missingRow(column) {
    const { colours } = this, missing = column.missing();
    return missing ? [this.legendRow(colours.table[colours.missing], "missing", "", missing, () => {}, null)] : [];
  }

  legendRow(colour, name, note, count, onclick, node) {
    const button = element("button", { type: "button", class: "row", onclick },
      swatch(colour), element("span", { class: "grow clip" }, name || "(empty)"), element("span", { class: "note clip" }, note), element("span", { class: "count" }, number(count)));
    if (node !== null) {
      button.addEventListener("pointerenter", () => this.act.hover(node));
      button.addEventListener("pointerleave", () => this.act.hover(null));
    }
    return element("li", {}, button);
  }

  showSelection(node) {
    const { model } = this;
    this.selected = node;
    document.getElementById("selected-name").textContent = this.heading(node);
    const text = document.getElementById("selected-text");
    text.textContent = node < model.n ? model.text(node) : "";
    text.hidden = !text.textContent;
    document.getElementById("selected-facts").replaceChildren(...this.facts(node));
    document.getElementById("selected-mix").replaceChildren(...this.mix(node));
    document.getElementById("selected-features").replaceChildren(...this.distinctions(node));
    document.getElementById("up").disabled = node === model.root;
    this.list.scrollTop = 0;
    this.fillMembers();
  }

  facts(node) {
    const { model, colours } = this;
    const facts = [];
    const index = model.clusterOf(node);
    if (index >= 0) facts.push(element("span", {}, swatch(model.isOutlier(node) ? colours.muted : colours.table[colours.cluster(index)]), this.clusterWords(node, index)));
    if (node < model.n) {
      if (model.labels) facts.push(element("span", {}, swatch(colours.table[colours.label(model.labels[node])]), model.labelName(model.labels[node]) || "(empty)"));
      for (const column of model.columns.slice(model.labels ? 1 : 0)) facts.push(`${column.name}: ${column.told(model.first[node], model.first[node] + 1)}`);
      facts.push(`row ${model.row(node)}`);
      if (model.weight[node] > 1) facts.push(points(model.weight[node]));
    } else {
      facts.push(`height ${short(model.height(node))}`);
      if (model.support && node !== model.root) facts.push(`support ${short(model.support[node - model.n])}`);
      if (model.across) facts.push(`mean ${model.edgesAlone ? "edge weight" : "similarity"} across the split ${short(model.across[node - model.n])}`);
    }
    return facts.map((fact) => element("li", {}, fact));
  }

  /** Return "cluster 3", "cluster 3, outside its core" or "outlier". */
  clusterWords(node, index) {
    const { model } = this;
    if (!model.hasJoined(node)) return `cluster ${model.numbers[index]}`;
    return model.labelsOutliers ? "outlier" : `cluster ${model.numbers[index]}, outside its core`;
  }

  /** Show the labels of a cluster as a stacked bar, and as text. */
  mix(node) {
    const { model, colours } = this;
    if (node < model.n || !model.labels) return [];
    const counts = model.labelCounts(node);
    const total = model.weight[node];
    const bar = element("div", { class: "bar", "aria-hidden": "true" });
    for (const [code, count] of counts.slice(0, 40)) {
      const part = element("span");
      part.style.flexGrow = count;
      part.style.background = colours.table[colours.label(code)];
      bar.append(part);
    }
    const words = counts.slice(0, 4).map(([code, count]) => `${model.labelName(code) || "(empty)"} ${Math.round((100 * count) / total)}%`);
    return [bar, element("p", { class: "note" }, words.join(" · ") + (counts.length > 4 ? ` · ${number(counts.length - 4)} more` : ""))];
  }

  /** Show the features that distinguish a cluster from the rest, and its two parts from each other. */
  distinctions(node) {
    const { model } = this;
    const rest = this.featureRows(node, "rest", 6), parts = this.featureRows(node, "parts", 4);
    const heading = (text, compare) => element("p", { class: "note", title: `● significant after correction for ${number(model.differences[compare].tests)} comparisons; docs/groups.md` }, text);
    return [...(rest.length ? [heading("Compared with the rest", "rest"), ...rest] : []), ...(parts.length ? [heading("Its two parts differ in", "parts"), ...parts] : [])];
  }

  /** List the columns that differ most: means on both sides, effect size as a bar, and a dot where it is significant. */
  featureRows(node, compare, count) {
    const { model } = this;
    return model.differing(node, compare).slice(0, count).map(([j, effect, sure]) => {
      const fill = element("span", { class: effect < 0 ? "below" : "above" });
      fill.style.width = Math.min(50, Math.abs(effect) * 12) + "%";
      const gauge = element("span", { class: "gauge", title: `effect size ${short(effect)} (Hedges' g)${sure ? ", significant" : ""}` }, fill);
      const means = compare === "rest" ? short(model.featureMean(node, j)) : `${short(model.featureMean(model.left(node), j))} · ${short(model.featureMean(model.right(node), j))}`;
      return element("div", { class: "feature" }, element("span", { class: "clip grow", title: model.featureNames[j] }, model.featureNames[j]), gauge, element("span", { class: "sure", "aria-label": sure ? "sure" : "" }, sure ? "●" : ""), element("span", { class: "count" }, means));
    });
  }

  /** Create only the visible rows of the list. */
  fillMembers() {
    const { model, list } = this;
    const leaves = model.leaves(this.selected);
    const from = Math.max(0, Math.floor(list.scrollTop / ROW) - 4);
    const to = Math.min(leaves.length, from + Math.ceil((list.clientHeight || 300) / ROW) + 8);
    const focused = list.contains(document.activeElement) ? document.activeElement.dataset.leaf : null;
    const rows = [], visible = Math.min(leaves.length - 1, Math.ceil(list.scrollTop / ROW));
    for (let k = from; k < to; k++) rows.push(this.memberRow(leaves[k], k, leaves.length, focused === null ? k === visible : String(leaves[k]) === focused));
    const before = element("li", { "aria-hidden": "true" }), after = element("li", { "aria-hidden": "true" });
    before.style.height = from * ROW + "px";
    after.style.height = (leaves.length - to) * ROW + "px";
    list.replaceChildren(before, ...rows, after);
    if (focused) list.querySelector(`[data-leaf="${focused}"]`)?.focus({ preventScroll: true });
  }

  /** Move the focus along the list with the arrow keys; Tab leaves it. */
  walkMembers(event) {
    const { model, list } = this, row = event.target.closest("[data-leaf]");
    const leaves = model.leaves(this.selected), last = leaves.length - 1;
    const at = row ? model.first[row.dataset.leaf] - model.first[this.selected] : 0;
    const to = { ArrowDown: Math.min(last, at + 1), ArrowUp: Math.max(0, at - 1), Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    list.scrollTop = Math.max((to + 1) * ROW - list.clientHeight, Math.min(to * ROW, list.scrollTop));
    this.fillMembers();
    list.querySelector(`[data-leaf="${leaves[to]}"]`).focus({ preventScroll: true });
  }

  memberRow(leaf, k, total, inOrder) {
    const { model, colours } = this;
    const text = model.text(leaf);
    const button = element("button", { type: "button", class: "row", "data-leaf": leaf, tabindex: inOrder ? 0 : -1, title: [model.name(leaf), text].filter(Boolean).join("\n"), onclick: () => this.act.go(leaf) },
      this.thumbs.ready ? this.thumbs.element(leaf, 22, colours.css(leaf)) : swatch(colours.css(leaf)),
      element("span", { class: text ? "clip" : "grow clip" }, model.shortName(leaf, 34)),
      text ? element("span", { class: "grow clip count" }, text) : null,
      element("span", { class: "note clip" }, model.label(leaf)),
      model.weight[leaf] > 1 ? element("span", { class: "count" }, number(model.weight[leaf])) : null);
    button.addEventListener("pointerenter", () => this.act.hover(leaf));
    button.addEventListener("pointerleave", () => this.act.hover(null));
    return element("li", { "aria-setsize": total, "aria-posinset": k + 1 }, button);
  }

  /** Fill the tooltip of a node: pictures, name or size, labels, means. */
  tooltip(node) {
    const { model, colours } = this;
    const content = [element("strong", { class: "whole" }, this.heading(node))];
    if (node < model.n && model.text(node)) content.push(element("p", { class: "whole" }, model.text(node)));
    if (this.thumbs.ready) content.push(this.pictures(node));
    const facts = this.facts(node);
    if (node < model.n) content.push(element("ul", { class: "facts" }, ...facts));
    else if (model.size[node] <= 20000) content.push(...this.mix(node));
    if (node >= model.n && !this.thumbs.ready) content.push(element("p", { class: "note" }, this.someNames(node)));
    if (model.features && model.size[node] * model.featureNames.length < 1e6) content.push(...this.featureRows(node, "rest", 4));
    return content;
  }

  pictures(node) {
    const { model, colours } = this;
    if (node < model.n) return this.thumbs.element(node, 72, colours.css(node));
    const leaves = model.leaves(node);
    const shown = Math.min(10, leaves.length);
    const strip = element("div", { class: "strip" });
    for (let k = 0; k < shown; k++) {
      const leaf = leaves[Math.floor(((k + 0.5) * leaves.length) / shown)];
      strip.append(this.thumbs.element(leaf, 30, colours.css(leaf)));
    }
    return strip;
  }

  someNames(node) {
    const { model } = this;
    const leaves = model.leaves(node);
    const names = Array.from(leaves.subarray(0, 5), (leaf) => model.name(leaf));
    return names.join(", ") + (leaves.length > 5 ? ", …" : "");
  }
}

/** Search for leaves whose name or label contains the text, exact names first, then exact labels; "label:x" finds just the label x. */
class Search {
  constructor(model) {
    this.model = model;
  }

  find(text) {
    const { model } = this;
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    this.names ??= Array.from({ length: model.n }, (_, leaf) => model.name(leaf).toLowerCase());
    this.labels ??= model.labelNames ? model.labelNames.map((name) => name.toLowerCase()) : [];
    const grade = this.labels.map((label) => (label === wanted ? 1 : label.includes(wanted) ? 3 : 4));
    if (wanted.startsWith("label:") && model.labels) {
      const codes = new Set(Array.from(this.labels.keys()).filter((code) => this.labels[code] === wanted.slice(6)));
      return Array.from(model.order.filter((leaf) => codes.has(model.labels[leaf])));
    }
    const graded = [[], [], [], []];
    for (const leaf of model.order) {
      const name = this.names[leaf];
      const best = name === wanted ? 0 : Math.min(name.includes(wanted) ? 2 : 4, model.labels ? grade[model.labels[leaf]] ?? 4 : 4);
      if (best < 4) graded[best].push(leaf);
    }
    return graded.flat();
  }
}
