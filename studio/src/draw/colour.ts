// Colours of the theme for what is drawn on a canvas.
export type Colour = [number, number, number];

export function colour(name: string): Colour {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim().split(" ").map(Number) as Colour;
}
// How strongly a number is inked: 0 to 255.
export function alphaOf(strength: number): number { return 255 * (0.04 + 0.9 * Math.min(1, strength)); }
