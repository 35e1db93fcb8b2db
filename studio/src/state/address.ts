// The address after "#": "lang=ko&panel=heads&model=numbers&text=on iki&head=decoder.0.self.3&cell=encoder.0.self.head.0.scores[3,5]".
import { source } from "../api/source";
import { lastOf } from "../draw/element";
import { data, hasRun, runs } from "../trace/document";
import { chosenHead, setHead } from "../trace/heads";
import { cellText } from "../trace/views";
import { state } from "./state";

export function addressOf(): URLSearchParams {
  const chosen = new URLSearchParams({ lang: state.lang });
  const put = (name: string, value: string | number | undefined | false) => { if (value !== undefined && value !== false && value !== "") chosen.set(name, String(value)); };
  put("theme", state.theme);
  put("panel", (source.isServer || state.panel !== "walk") && !data.report && !(data.lesson && !source.isServer) && state.panel);
  if (source.isServer) {
    put("model", state.model);
    put("text", state.text);
    put("target", state.target);
    put("train", state.train && 1);
    put("lesson", state.lesson);
  }
  put("run", state.run !== runs.length - 1 && hasRun() && state.run);
  put("exercise", state.exercise && 1);
  put("head", hasRun() && !data.lesson && state.place !== "" && chosenHead());
  put("position", state.position);
  if (state.trail.length > 0) put("cell", cellText(lastOf(state.trail)));
  return chosen;
}

// What can be known before a run is open.
export function recallState(chosen: URLSearchParams, known: { languages: string[]; panels: string[] }): void {
  const lang = chosen.get("lang") ?? "";
  if (known.languages.includes(lang)) state.lang = lang;
  const theme = chosen.get("theme") ?? "";
  if (theme === "light" || theme === "dark") state.theme = theme;
  const panel = chosen.get("panel") ?? "";
  if (known.panels.includes(panel)) state.panel = panel;
  state.exercise = chosen.get("exercise") === "1";
  if (!source.isServer) return;
  state.model = chosen.get("model") ?? state.model;
  state.text = chosen.get("text") ?? state.text;
  state.target = chosen.get("target") ?? "";
  state.train = chosen.get("train") === "1";
  state.lesson = chosen.get("lesson") ?? "";
}
// The rest, of the run that is open.
export function recallInRun(chosen: URLSearchParams): void {
  const run = chosen.get("run");
  if (run !== null && runs[Number(run)]) state.run = Number(run);
  const position = chosen.get("position");
  if (position !== null && /^\d+$/.test(position)) state.position = Number(position);
  const head = chosen.get("head");
  if (head !== null && hasRun() && !data.report) setHead(head);
}
