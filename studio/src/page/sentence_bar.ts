// The bar with the model and the sentence: edit it, and it is run again.
import { button, element, fill, setAttribute } from "../draw/element";
import { state } from "../state/state";
import { text } from "../texts/words";
import { choosePanel, redraw, remember } from "./page";
import { busy, failure, known, layersShown, modelInfo, onSession, openTrace } from "./session";

export function sentenceBar(): HTMLElement {
  const models = element("select", { id: "model", "aria-label": text("studio.model"), change: () => {
    state.model = models.value;
    // What a job has made reads the same sentence as the model it was made of.
    if (modelInfo()?.source !== "job") state.text = "";
    state.target = "";
    state.train = false;
    run();
  } });
  const sentence = element("input", { id: "sentence", type: "text", autocomplete: "off", spellcheck: "false", "aria-label": text("studio.sentence"), "aria-describedby": "said", maxlength: 4000 });
  const target = element("input", { id: "target", type: "text", autocomplete: "off", spellcheck: "false", "aria-label": text("studio.target"), placeholder: text("studio.target"), maxlength: 4000 });
  const trained = element("input", { type: "checkbox", id: "trained", change: () => { state.train = trained.checked; run(); } });
  const training = element("label", { class: "check-box" }, trained, " ", text("studio.trained"));
  const said = element("p", { id: "said", class: "said", role: "status" });
  const go = button(text("studio.run"), { class: "go" });
  go.type = "submit";
  const made = element("form", { class: "sentence-bar", submit: (event: Event) => { event.preventDefault(); state.text = sentence.value; state.target = target.value; run(); } }, models, sentence, target, training, go, said);
  const show = () => {
    const ids = known.models.map((model) => model.id);
    if (ids.join() !== [...models.options].map((one) => one.value).join()) fill(models, ids.map((id) => element("option", { value: id }, id)));
    models.value = state.model;
    if (document.activeElement !== sentence) sentence.value = state.text;
    if (document.activeElement !== target) target.value = state.target;
    setAttribute(sentence, "placeholder", modelInfo()?.tokenizer === null ? text("studio.ids_needed") : "");
    target.hidden = !modelInfo()?.can?.translates;
    training.hidden = state.model !== "worked";
    trained.checked = state.train;
    go.disabled = busy;
    made.toggleAttribute("aria-busy", busy);
    fill(said, busy ? "" : failure ? failure.message : layersShown ? text("studio.layers_shown", layersShown) : "");
    sentence.setAttribute("aria-invalid", String(Boolean(failure)));
  };
  onSession(show);
  show();
  return made;
}

async function run(): Promise<void> {
  if (!(await openTrace())) return;
  if (state.panel === "lesson") choosePanel("walk");
  else redraw();
  remember(true);
}
