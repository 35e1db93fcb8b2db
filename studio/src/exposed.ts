// What the page's own tests, and whoever looks at it in a browser's console, can reach: `headlight.run()`.
import { element } from "./draw/element";
import { formulaOf } from "./draw/formula";
import { clipped, shownMatrices, tableCellAt } from "./draw/matrix";
import { showHelp } from "./page/help";
import { chooseRun, redraw, walk } from "./page/page";
import { state } from "./state/state";
import { percent, prose } from "./texts/numbers";
import { text, wordsOf } from "./texts/words";
import { data, run, runs, stepNumbers, vocabularyLabels } from "./trace/document";
import { rowAt } from "./trace/heads";
import { load } from "./trace/loading";
import { indexAt, offsetOf, placeOf } from "./trace/run";
import { Explanation } from "./trace/terms";
import { cellOf, cellText, mostWords, nearName } from "./trace/views";
import { answer, askWhy, closeWhy, drawer, openAndFind } from "./views/why";

export const exposed = {
  state, element, text, wordsOf, prose, percent, formulaOf, Explanation, indexAt, offsetOf, placeOf, rowAt, cellOf, cellText, nearName, run, load, redraw, answer, askWhy, closeWhy, openAndFind, chooseRun, showHelp,
  drawer, walk, clipped, mostWords, shownMatrices, tableCellAt,
  get data() { return data; }, get runs() { return runs; }, get stepNumbers() { return stepNumbers; }, get vocabularyLabels() { return vocabularyLabels; },
};
