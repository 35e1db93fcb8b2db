// The panels that need nothing but a run: an offline page has them too.
import { headsMap } from "./heads_map";
import { microscope } from "./microscope";
import type { View } from "./view";
import { walkView } from "./walk/walk";

export const runPanels: View[] = [walkView, headsMap, microscope];
