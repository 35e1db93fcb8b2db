// The list of keys.
import { button, element, fill } from "../draw/element";
import { text } from "../texts/words";
import { currentView } from "./page";

const common: [string[], string][] = [[["←", "→", "↑", "↓"], "page.key.cells"], [["Enter"], "page.key.why"], [["w"], "page.key.answer"], [["Backspace"], "page.key.back"], [["Esc"], "page.key.close"],
  [["n", "p"], "page.key.steps"], [["[", "]"], "page.key.heads"], [["{", "}"], "page.key.layers"]];

export function showHelp(): void {
  const help = document.getElementById("help") as HTMLDialogElement;
  const view = currentView();
  const keys = [...(view.name === "report" ? [] : common), ...(view.keyTexts ?? []), [["?"], "page.key.help"] as [string[], string]];
  fill(help, element("h2", {}, text("page.help")), element("dl", {}, keys.map(([names, key]) =>
    [element("dt", {}, names.map((name) => element("kbd", {}, name))), element("dd", {}, text(key))])), button(text("page.close"), { class: "plain", click: () => help.close() }));
  help.showModal();
}
