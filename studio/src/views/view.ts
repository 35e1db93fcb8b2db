// What a panel is. A new one is a file in this folder, a line in panels.ts, its styles in styles/ and its texts (studio.panel.NAME, studio.NAME.*) in the catalogue.

export interface View {
  readonly name: string;             // in the address (#panel=walk) and of its title (studio.panel.walk)
  readonly needs: "run" | "server";  // a run that is open, or a server: an offline page has none, and does not list the panel
  // Draws all of it into the empty holder. What is open is in trace/document, what is chosen in state/state, more comes from `source` in api/source.
  // It is called again when the run, the numbers or the panel changes; not for another language, which told words follow by themselves.
  show(holder: HTMLElement): void;
  leave?(): void;                            // another panel is shown: stop what works or listens
  headChanged?(place: string): void;         // another head or query of this attention was chosen; absent: show() again
  moveStep?(step: 1 | -1): void;             // keys n and p
  moveHead?(step: 1 | -1): void;             // keys [ and ]; absent: the next head of the attention that is looked at
  moveLayer?(step: 1 | -1): void;            // keys { and }; absent: the same attention in the next layer
  keys?: Record<string, () => void>;         // more keys, and what they do
  keyTexts?: [names: string[], key: string][];  // the same for the list of keys: catalogue keys
  remember?(chosen: URLSearchParams): void;  // what a link to it has to hold besides state
  recall?(chosen: URLSearchParams): void;    // before show()
}
