// Keys and clicks that mean the same in every view.
import { clickInMatrix, moveInMatrix, tellDigits } from "../draw/matrix";
import { closeWhy, stepBack, switchWhy } from "../views/why";
import { showHelp } from "./help";
import { applyTheme, currentView, moveHead, moveLayer } from "./page";

const keys: Record<string, () => void> = {
  n: () => currentView().moveStep?.(1), p: () => currentView().moveStep?.(-1), "[": () => moveHead(-1), "]": () => moveHead(1), "{": () => moveLayer(-1), "}": () => moveLayer(1),
  w: switchWhy, "?": showHelp, Escape: closeWhy, Backspace: stepBack,
};

function pressed(event: KeyboardEvent): void {
  const target = event.target as Element;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || target.matches?.("input, textarea, select") || (document.getElementById("help") as HTMLDialogElement).open) return;
  const act = currentView().keys?.[event.key] ?? keys[event.key];
  if (moveInMatrix(event)) event.preventDefault();
  else if (act) { act(); event.preventDefault(); }
}

export function listen(): void {
  document.addEventListener("keydown", pressed);
  document.addEventListener("click", clickInMatrix);
  document.addEventListener("pointerover", tellDigits);
  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details")) { one.open = true; one.fill?.(); }
    for (const one of document.querySelectorAll("details")) one.open = true;
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
}
