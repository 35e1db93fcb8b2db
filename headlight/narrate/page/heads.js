// Heads side by side, token to token: lines, or heat maps.
const mostLineTokens = 32;

function headsCard() {
  const attentions = run().attentions();
  if (attentions.length === 0) return undefined;
  const made = element("section", { class: "card", id: "heads", tabindex: "-1" });
  const redrawHeads = () => fill(made,
    element("h2", {}, text("heads.title")), element("p", { class: "text" }, text(attentions.some(drawnAsLines) ? "heads.lines" : "heads.text")), firstShownText(),
    element("dl", { class: "rules" }, ["share", "entropy", "distance"].map((key) => [element("dt", {}, text(`label.${key}`)), element("dd", {}, text(`heads.${key}`))])),
    element("div", { class: "picks" }, choice(text("heads.title"), [{ label: text("page.lines"), value: true }, { label: text("term.heat_map"), value: false }], state.lines,
      (lines) => { state.lines = lines; redrawHeads(); })),
    attentions.map((tensor) => element("div", { class: "place", "data-heads": placeOf(tensor.name) }, headsOf(tensor))));
  redrawHeads();
  return made;
}

// The rule by which a head comes first.
function firstShownText() {
  const first = shownFirst();
  return first && element("p", { class: "note" }, text("heads.first_shown", { head: first.name, measure: number(first.selectivity, (x) => prose(x, 3)) }));
}

function headsOf(tensor) {
  const place = placeOf(tensor.name);
  const heads = Array.from({ length: tensor.shape[1] }, (_, head) => head);
  return [element("h3", {}, placeTitle(place)), has(`place.${withoutLayer(place)}.text`) && element("p", { class: "note" }, text(`place.${withoutLayer(place)}.text`)),
    tensor.values ? element("div", { class: "heads" }, heads.map((head) => headFigure(tensor, place, head))) : leftOut(tensor)];
}

function drawnAsLines(tensor) { return state.lines && tensor.shape[2] <= mostLineTokens && tensor.shape[3] <= mostLineTokens; }
function headFigure(tensor, place, head) {
  const name = headNumber(tensor, head);
  const measured = run().heads.find((one) => one.place === place && one.head === name);
  return element("div", { class: headAt(place) === head ? "head chosen" : "head", "data-head": name },
    element("div", { class: "top" }, button(text("place.head", { head: name }), { click: () => chooseHead(place, head), title: `${place}.${name}` }), measured && roleBadge(measured),
      measured && element("span", { class: "measure", title: text("heads.difference", { difference: number(measured.output_difference, prose) }) },
        text("label.entropy"), " ", number(measured.entropy, (x) => prose(x, 3)), " · ", text("label.distance"), " ", number(measured.mean_distance, (x) => prose(x, 3)),
        " · |A·V−O| ", number(measured.output_difference, (x) => prose(x, 1)))),
    drawnAsLines(tensor) ? lines(tensor, head) : canvas(matrixOf(tensor, { head }), 240));
}

// "one token: thrones 97%".
function roleBadge(measured) {
  const token = measured.key === null ? undefined : run().labels(run().attentionAt(measured.place).axes[3])[measured.key];
  return element("span", { class: "badge", title: text(`role.${measured.role}.text`) }, text(`role.${measured.role}`), token !== undefined && [": ", element("b", {}, token)],
    " ", percent(measured.measure));
}

function lines(tensor, head) {
  const weight = (i, j) => run().value({ name: tensor.name, index: [0, head, i, j] });
  const [from, to] = [run().labels(tensor.axes[2]), run().labels(tensor.axes[3])];
  const [left, right, width, line] = [92, 178, 292, 21];
  const height = Math.max(from.length, to.length) * line + 6;
  const y = (i) => i * line + 15;
  const made = drawing("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": titleOf(tensor) });
  const shares = to.map((_, j) => drawing("text", { class: "share", x: width - 2, y: y(j), "text-anchor": "end" }));
  from.forEach((_, i) => to.forEach((_, j) => {
    const share = weight(i, j);
    if (!(share >= 0.01)) return;
    made.append(drawing("path", { "data-i": i, d: `M${left} ${y(i) - 4} C${left + 36} ${y(i) - 4} ${right - 36} ${y(j) - 4} ${right} ${y(j) - 4}`,
      "stroke-width": (0.6 + 4.4 * share).toFixed(2), "stroke-opacity": (0.08 + 0.8 * share).toFixed(3) }, drawing("title", {}, `${from[i]} → ${to[j]}: `, number(share, short))));
  }));
  const show = (row) => {
    made.classList.toggle("on", row >= 0);
    for (const path of made.querySelectorAll("path, text.from")) path.classList.toggle("on", Number(path.dataset.i) === row);
    shares.forEach((share, j) => { share.textContent = row >= 0 && weight(row, j) >= 0.005 ? percent(weight(row, j)) : ""; });
  };
  from.forEach((label, i) => made.append(drawing("text", { class: "from", "data-i": i, x: left - 6, y: y(i), "text-anchor": "end", tabindex: "0",
    pointerenter: () => show(i), pointerleave: () => show(-1), focus: () => show(i), blur: () => show(-1) }, clipped(label))));
  to.forEach((label, j) => made.append(drawing("text", { x: right + 6, y: y(j) }, clipped(label))));
  made.append(...shares);
  return made;
}
function clipped(label) { return [...label].length > 12 ? `${[...label].slice(0, 11).join("")}…` : label; }

function chooseHead(place, head) {
  state.heads[place] = head;
  redrawPlace(place, true);
  remember();
}
// The next or previous head of all attentions that have it.
function moveHead(step) {
  for (const tensor of run().attentions()) {
    const place = placeOf(tensor.name);
    state.heads[place] = ((headAt(place) + step) % tensor.shape[1] + tensor.shape[1]) % tensor.shape[1];
    redrawPlace(place, true);
  }
  remember();
}
