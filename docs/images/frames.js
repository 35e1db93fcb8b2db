// The frames of walk.webp: how long each is shown, in milliseconds, and what is pressed before it. A frame begins where the one
// before ended; `lastFrame` says how many are played.
// A picture is always taken from the top of the page, so what stands above `target` is set aside instead of scrolled away.
Object.assign(globalThis, headlight);  // what the page lets others reach
let setAside = [];
function bringUp(target) {
  for (const one of setAside) one.style.display = "";
  setAside = [];
  for (let at = target; at !== walk; at = at.parentElement) {
    for (let one = at.previousElementSibling; one; one = one.previousElementSibling) setAside.push(one);
  }
  for (const one of setAside) one.style.display = "none";
  scrollTo({ top: 0, behavior: "instant" });
}
// With what it is made of in view, or itself.
function ask(name, index, above = name) {
  askWhy({ name, index });
  bringUp(openAndFind(above).parentElement);
}
const walkOn = () => drawer.querySelector(".factor").click();
const language = (code) => [...document.querySelectorAll("#bar button")].find((one) => one.textContent === code).click();
const frames = [
  [1800, () => chooseRun(0)],
  [2400, () => chooseRun(1)],
  [1600, () => bringUp(openAndFind("encoder.0.self.query").parentElement)],
  [2600, () => ask("encoder.0.self.scores", [0, 0, 2, 4], "encoder.0.self.query")],
  [1800, walkOn],
  [1800, walkOn],
  [2400, () => ask("encoder.0.self.weights", [0, 1, 2, 1], "encoder.0.self.masked_scores")],
  [1400, () => language("TR")],
  [1400, () => language("KO")],
  [2000, () => { language("EN"); drawer.querySelector("button").click(); bringUp(document.getElementById("heads")); }],
];
for (const [, act] of frames.slice(0, lastFrame)) act();
