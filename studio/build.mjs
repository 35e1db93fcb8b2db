// Builds the page: `node build.mjs` writes dist/, which is committed; `node build.mjs --check` fails when that is not what the sources give.
import { build, transform } from "esbuild";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";

const here = fileURLToPath(new URL(".", import.meta.url));
const mostBytes = 250_000;  // of all that a browser is sent, compressed, with the texts of every language
const styles = ["page", "figures", "lesson", "report", "studio", "panels", "next_word", "compare", "lab",
  "train"];

async function script(name) {
  const made = await build({ entryPoints: [`${here}src/${name}.ts`], bundle: true, minify: true, format: "iife", target: "es2022", charset: "utf8", legalComments: "none", write: false });
  return made.outputFiles[0].text;
}
async function style() {
  const parts = await Promise.all(styles.map((name) => readFile(`${here}src/styles/${name}.css`, "utf8")));
  return (await transform(parts.join("\n"), { loader: "css", minify: true, target: "es2022" })).code;
}
const plain = (name) => readFile(`${here}src/${name}`, "utf8");

// All files; those that a server sends also compressed.
async function make() {
  const files = new Map([["offline.html", await plain("offline.html")], ["offline.js", await script("offline")]]);
  for (const [name, text] of [["studio.html", await plain("studio.html")], ["studio.js", await script("studio")], ["studio.css", await style()], ["icon.svg", await plain("icon.svg")]]) {
    files.set(name, text);
    files.set(`${name}.gz`, gzipSync(text, { level: 9 }));
  }
  return files;
}

// What a browser is sent at most: the page and the whole catalogue.
async function compressedBytes(files) {
  let bytes = 0;
  for (const [name, content] of files) if (name.endsWith(".gz")) bytes += content.length;
  const catalogue = `${here}../headlight/narrate/catalogue/`;
  for (const name of await readdir(catalogue)) bytes += gzipSync(await readFile(catalogue + name), { level: 9 }).length;
  return bytes;
}

const files = await make();
const bytes = await compressedBytes(files);
console.log(`${(bytes / 1000).toFixed(1)} kB compressed, with the texts; ${mostBytes / 1000} kB are allowed`);
if (bytes > mostBytes) process.exit(1);
if (process.argv.includes("--check")) {
  // Another zlib may compress otherwise: what counts is what comes out again.
  const opened = (name, content) => (name.endsWith(".gz") ? gunzipSync(content) : Buffer.from(content)).toString();
  const names = (await readdir(`${here}dist`)).sort().join();
  if (names !== [...files.keys()].sort().join()) { console.error(`dist has ${names}`); process.exit(1); }
  for (const [name, content] of files) {
    if (opened(name, await readFile(`${here}dist/${name}`)) === opened(name, content)) continue;
    console.error(`dist/${name} is not what the sources give: npm run build`);
    process.exit(1);
  }
  console.log("dist is what the sources give");
} else {
  await rm(`${here}dist`, { recursive: true, force: true });
  await mkdir(`${here}dist`, { recursive: true });
  for (const [name, content] of files) await writeFile(`${here}dist/${name}`, content);
}
