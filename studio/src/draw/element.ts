// Elements of the page, and words in them that follow the language.

declare global {
  interface Node {
    told?: Told | Record<string, Told>;
    retell?(): void;  // puts what is inside into the chosen language
  }
  interface Element {
    fill?(): void;                // draws what is inside again
    holds?: Set<string>;          // tensors that are inside when it is open
    showCell?(cell: { name: string; index: number[] }): void;
  }
}

// Words or numbers that follow the language: where element() puts them, retell() finds them again.
export class Told {
  constructor(readonly make: () => unknown) {}
  toString(): string { return String(this.make()); }
}
export function told(make: () => unknown): Told { return new Told(make); }

export type Words = string | Told;
// Children may be lists, and absent where there is nothing to show.
export type Child = Node | Words | undefined | false | null | Child[];
export type Attribute = string | number | boolean | undefined | Told | Record<string, string> | ((event: any) => void);
export type Attributes = Record<string, Attribute>;

export function element<K extends keyof HTMLElementTagNameMap>(tag: K, attributes?: Attributes, ...children: Child[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else if (typeof value === "object" && !(value instanceof Told)) for (const [key, one] of Object.entries(value)) made.style.setProperty(key, one);
    else setAttribute(made, name, value === true ? "" : value);
  }
  made.append(...present(children));
  return made;
}

export function drawing<K extends keyof SVGElementTagNameMap>(tag: K, attributes?: Attributes, ...children: Child[]): SVGElementTagNameMap[K] {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== undefined && value !== false) setAttribute(made, name, value as string | number | Told);
  }
  made.append(...present(children));
  return made;
}

export function setAttribute(made: Element, name: string, value: string | number | true | Told): void {
  if (value instanceof Told) ((made.told ??= {}) as Record<string, Told>)[name] = value;
  made.setAttribute(name, String(value));
}
export function present(children: Child[]): (Node | string)[] {
  return (children.flat(9) as Child[]).filter((child) => child !== undefined && child !== false && child !== null).map((child) => shown(child as Node | Words));
}
function shown(child: Node | Words): Node | string {
  if (!(child instanceof Told)) return child;
  const made = document.createTextNode(String(child));
  made.told = child;
  return made;
}
export function fill(made: Element, ...children: Child[]): void { made.replaceChildren(...present(children)); }

// A long name, which may go on in the next line after its dots and low lines and nowhere else if that can be.
export function breakable(name: string): Child[] { return name.split(/(?<=[._])/).flatMap((part, i) => (i === 0 ? [part] : [element("wbr"), part])); }

// Puts all that was told into the chosen language, in its place; matrices stay, but for their decimal signs.
export function retell(): void {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) => {
    if (node.told instanceof Told) (node as Text).data = String(node.told);
    else for (const name in node.told) (node as Element).setAttribute(name, String(node.told[name]));
    node.retell?.();
    return node.retell ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT;
  });
  while (walker.nextNode());
}

export function button(label: Child, attributes?: Attributes): HTMLButtonElement { return element("button", { type: "button", ...attributes }, label); }

// A choice of which one is pressed.
export interface Option<T> { label: Words; title?: Words; value: T }
export function choice<T>(name: Words, options: Option<T>[], chosen: T, choose: (value: T) => void): HTMLElement {
  return element("span", { class: "choice", role: "group", "aria-label": name }, options.map((option) =>
    button(option.label, { "aria-pressed": String(option.value === chosen), title: option.title, click: () => choose(option.value) })));
}

export function lastOf<T>(list: readonly T[]): T { return list[list.length - 1] as T; }
