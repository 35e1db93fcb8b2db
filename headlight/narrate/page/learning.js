// Learning: from the loss to one weight, and its update.
function learning() {
  const walk = run().backward;
  const learned = data.losses.length > 0 ? [curve()] : [];
  if (!walk) return [...learned, ...howToWalkBack()];
  addGradients(walk);
  return [
    learned,
    wayBack("loss", { loss: number(walk.loss, prose) }, "loss"),
    wayBack("error", {}, "error"),
    element("div", { class: "flow" }, figure(run().find("gradient.error"), { explained: false })),
    wayBack("gradients", {}),
    gradients(walk),
    wayBack("weight", { weight: walk.weight, value: number(walk.value, (x) => prose(x, 6)) }),
    !run().weight_is_asked && wayBack("chosen", stepNumbers),
    wayBack("terms", {}),
    element("div", { class: "scroll" }, termTable(walk.terms.map((term) => ({ ...term, factors: term.factors.map((factor) => ({ ...factor, cell: cellOf(factor.cell) })) })))),
    element("p", { class: "filled" }, "∂L/∂w = ", number(walk.gradient)),
    updates(walk.update),
    element("p", { class: "text" }, text("backward.new_value", { value: number(walk.new_value, (x) => prose(x, 6)) })),
    element("p", { class: "text" }, element("b", {}, text("backward.new_loss", { before: number(walk.loss, (x) => prose(x, 5)), after: number(walk.new_loss, (x) => prose(x, 5)) }))),
  ];
}

// Where the page has no way back: what is missing, or the command that shows it.
function howToWalkBack() {
  if (isEncoder()) return [];
  if (run().targets.every((id) => id < 0)) return [element("p", { class: "text" }, text("message.no_target"))];
  return [element("p", { class: "left-out" }, text("page.no_backward"), element("br"), element("code", {}, `${data.command} --backward --only ${stepNumbers.learning}`))];
}

// The rules that were used on the way back, by the operations that they are for.
function gradients(walk) {
  const names = walk.gradients.filter((name) => name in walk.gradient_values);
  const tensors = names.map((name) => run().find(name));
  const used = [...new Set(tensors.map((tensor) => data.operations[tensor.operation]?.gradient).filter(Boolean))];
  const made = element("details", { class: "group", "data-place": "gradients" });
  made.holds = new Set(names.map((name) => `gradient.${name}`));
  made.fill = () => fill(made, element("summary", {}, element("h3", {}, text("label.gradient")), element("code", {}, String(tensors.length))), made.open && [
    element("dl", { class: "rules" }, used.map((rule) => [element("dt", {}, formulaOf(`backward.${rule}`)), element("dd", {}, text(`backward.${rule}`))])),
    element("div", { class: "flow" }, [...made.holds].map((name) => figure(run().find(name), { explained: false })))]);
  made.fill();
  made.addEventListener("toggle", () => { if (made.children.length < 2) { made.fill(); answer(); } });
  return made;
}

function wayBack(key, values, formulaKey) {
  return element("p", { class: "text" }, text(`backward.${key}`, values), formulaKey && [" ", formulaOf(`backward.${formulaKey}`)]);
}

// Gradients become tensors of the run, so that they are drawn and asked like all others.
function addGradients(walk) {
  const add = (name, of, values) => {
    if (run().find(name)) return;
    const tensor = run().find(of);
    run().all.set(name, { name, operation: "given", operands: [], attributes: {}, shape: tensor.shape, axes: tensor.axes, formula: "", text: tensor.text,
      values: numbersOf(values) });
  };
  add("gradient.error", "logits", walk.error);
  for (const [name, values] of Object.entries(walk.gradient_values)) add(`gradient.${name}`, name, values);
}

function updates(update) {
  const lines = [
    ["clip", () => `‖g‖ = ${long(update.gradient_norm)}${update.clip_limit > 0 ? `${between()}c = ${long(update.clip_limit)}` : ""}${between()}g = ${long(update.clipped_gradient)}`],
    ["moments", () => `m = ${long(update.first_moment)}${between()}v = ${long(update.second_moment)}`],
    ["corrected", () => `m̂ = ${long(update.first_corrected)}${between()}v̂ = ${long(update.second_corrected)}`],
    ["change", () => `η = ${long(update.learning_rate)}${between()}Δw = ${long(update.change)}${update.decay !== 0 ? ` + ${bracketed(update.decay)}` : ""}`],
  ];
  return element("div", {}, lines.map(([key, numbers]) => element("div", { class: "step" }, wayBack(key, {}, key), element("p", { class: "filled" }, told(numbers)))));
}

// The loss while the model learned.
function curve() {
  const [width, height, left, bottom] = [560, 150, 44, 18];
  const most = Math.max(...data.losses);
  const x = (i) => left + ((width - left - 6) * i) / Math.max(1, data.losses.length - 1);
  const y = (loss) => 8 + (height - bottom - 8) * (1 - loss / most);
  const path = data.losses.map((loss, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(loss).toFixed(1)}`).join("");
  return drawing("svg", { class: "curve", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": text("term.loss") },
    drawing("line", { x1: left, x2: width - 6, y1: y(0), y2: y(0) }), drawing("path", { d: path }),
    drawing("text", { x: left - 6, y: 14, "text-anchor": "end" }, number(most, short)), drawing("text", { x: left - 6, y: y(0), "text-anchor": "end" }, "0"),
    drawing("text", { x: width - 6, y: height - 3, "text-anchor": "end" }, text("term.training"), `: ${data.losses.length - 1}`),
    drawing("text", { x: width - 6, y: y(lastOf(data.losses)) - 6, "text-anchor": "end" }, text("term.loss"), " ", number(lastOf(data.losses), short)));
}
