// All panels of the studio, in the order of their tabs.
import { runPanels } from "./panels";
import type { View } from "./view";

export const panels: View[] = [...runPanels];
