// The question for the key of a server that asks for one.
import { button, element, fill } from "../draw/element";
import { state } from "../state/state";
import { hasLanguage, text } from "../texts/words";
import { loadTexts } from "./session";

export async function questionForKey(wasWrong: boolean): Promise<string> {
  if (!hasLanguage(state.lang)) await loadTexts(state.lang);
  const dialog = element("dialog", { id: "key", "aria-labelledby": "key-title" });
  const given = element("input", { type: "password", autocomplete: "current-password", required: true, "aria-label": text("studio.key.one"), "aria-invalid": String(wasWrong) });
  const go = button(text("studio.key.go"), { class: "go" });
  go.type = "submit";
  document.body.append(dialog);
  return new Promise((done) => {
    fill(dialog, element("form", { submit: (event: Event) => { event.preventDefault(); dialog.remove(); done(given.value.trim()); } }, element("h2", { id: "key-title" }, text("studio.key.title")),
      element("p", { class: "note" }, text("studio.key.text")), wasWrong && element("p", { class: "problem", role: "alert" }, text("studio.key.wrong")), element("p", { class: "first-form" }, given, go)));
    dialog.addEventListener("cancel", (event) => event.preventDefault());  // nothing can be shown without it
    dialog.showModal();
  });
}
