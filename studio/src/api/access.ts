// The key of a server that asks for one: of the address (#api_key=…, which is taken out of it at once), or what the reader gives. It stays in this tab, and in no link.
const place = "headlight.key";

let key = "";
let asking: Promise<void> | undefined;
let askReader: (wasWrong: boolean) => Promise<string> = () => Promise.reject(new Error("a key is needed"));

// Who asks the reader; and what the address or this tab know already.
export function prepareAccess(ask: (wasWrong: boolean) => Promise<string>): void {
  askReader = ask;
  key = stored() ?? "";
  const address = new URLSearchParams(location.hash.slice(1));
  const given = address.get("api_key");
  if (given === null) return;
  keepKey(given);
  address.delete("api_key");
  history.replaceState(null, "", `#${address}`);
}
function keepKey(given: string): void {
  key = given;
  try { sessionStorage.setItem(place, key); } catch { /* Then it is asked for again after a reload. */ }
}
// A browser may keep nothing for pages, and says so by an error.
function stored(): string | null {
  try { return sessionStorage.getItem(place); } catch { return null; }
}

export function hasKey(): boolean { return key !== ""; }
export function accessHeaders(): Record<string, string> { return hasKey() ? { Authorization: `Bearer ${key}` } : {}; }

// After a refusal of `used`: another key, or the one that was given meanwhile. All who wait are answered by one question.
export async function askForKey(used: string | undefined): Promise<void> {
  if (accessHeaders().Authorization !== used) return;
  asking ??= askReader(hasKey()).then(keepKey).finally(() => { asking = undefined; });
  await asking;
}
