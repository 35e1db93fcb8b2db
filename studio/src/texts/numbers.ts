// Numbers as they are read: with the language's decimal sign, wherever they stand.
import { told, type Told } from "../draw/element";
import { text, wordsOf } from "./words";

export function localized(digits: string): string { return digits.replace(".", wordsOf("language.decimal")); }
// What stands between numbers of a list, so that 0,5 and 0,25 are not read as one.
export function between(): string { return wordsOf("language.decimal") === "," ? "; " : ", "; }
export function percent(share: number): Told { return text("language.percent", { number: Math.round(100 * share) }); }
export function special(x: number | undefined): string {
  if (x === undefined) return "?";
  if (Number.isNaN(x)) return "NaN";
  return x < 0 ? "−∞" : "∞";
}
// For cells.
export function short(x: number | undefined): string {
  if (x === undefined || !Number.isFinite(x)) return special(x);
  const size = Math.abs(x);
  if (Number.isInteger(x) && size < 1e5) return signed(String(size), x);
  if (size >= 1e5 || size < 5e-4) return signed(size.toExponential(0), x);
  return signed(size.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3), x);
}
// With all digits of a float32.
export function long(x: number | undefined): string {
  if (x === undefined || !Number.isFinite(x)) return special(x);
  return signed(String(Number(Math.abs(x).toPrecision(7))), x);
}
export function bracketed(x: number): string { return x < 0 ? `(${long(x)})` : long(x); }
export function decimals(x: number, digits: number): string { return signed(Math.abs(x).toFixed(digits), x); }
export function signed(digits: string, x: number): string { return (x < 0 ? "−" : "") + localized(digits); }
// Numbers in prose; small ones are written as 1e-5.
export function prose(x: number | undefined, digits = 4): string {
  if (x === undefined || !Number.isFinite(x)) return special(x);
  const size = Number(Math.abs(x).toPrecision(digits));
  return signed(size !== 0 && size < 1e-4 ? size.toExponential() : String(size), x);
}
// The same where it is shown.
export function number(x: number | undefined, write: (x: any) => string = long): Told { return told(() => write(x)); }
