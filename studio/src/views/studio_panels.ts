// All panels of the studio, in the order of their tabs.
import { compareView } from "./compare/compare";
import { labView } from "./lab/lab";
import { nextWord } from "./next_word/next_word";
import { runPanels } from "./panels";
import { train } from "./train/train";
import type { View } from "./view";

export const panels: View[] = [...runPanels, nextWord, train, labView, compareView];
