// What the journeys of every area do again and again.

/** `until` with a patience of its own, in milliseconds. */
export const patient = (timeout) => (page, probe, ...args) => page.waitForFunction(tried(probe), { timeout, polling: 100 }, ...args);

/** Waits until `probe`, run in the page, is true. Asks by the clock: a tab in the background draws no frames. */
export const until = patient(60_000);

/** The probe as a function that is false, not an exception of the page, while what it reads is not there. */
const tried = (probe) => new Function("...args", `
  const no = () => false;
  try {
    const is = (${probe})(...args);
    return is instanceof Promise ? is.catch(no) : is;
  } catch {
    return no();
  }`);

/** The text of the first element that matches. */
export const text = (page, selector) => page.$eval(selector, (element) => element.textContent);

/**
 * Resolves once an element has stayed in its place for a moment: the mouse aims at where it was. One that something covers is brought into view
 * before, and looked at longer: rows that come into the thread are measured when they are drawn, and move it. After some seconds anyway.
 */
const still = async (element) => {
  const box = () => element.getBoundingClientRect();
  const place = () => `${box().x} ${box().y}`;
  // a tab in the background draws no frames
  const drawn = () => new Promise((done) => { requestAnimationFrame(() => setTimeout(done, 30)); setTimeout(done, 200); });
  // one that was made anew meanwhile stands in no page
  if (!element.isConnected) throw new Error("The element is detached from the page.");
  const { x, y, width, height } = box();
  const isCovered = !element.contains(element.getRootNode().elementFromPoint(x + width / 2, y + height / 2));
  if (isCovered) element.scrollIntoView({ block: "center" });
  let [before, same] = [place(), 0];
  for (let looks = 0; looks < 60 && same < (isCovered ? 3 : 1); looks += 1) {
    await drawn();
    const now = place();
    same = now === before ? same + 1 : 0;
    before = now;
  }
};

/** Waits for `selector` and clicks it, as a person does: whatever stands there at that moment. */
export async function click(page, selector) {
  for (let attempt = 1; ; attempt += 1) {
    const element = await page.waitForSelector(selector, { visible: true, timeout: 60_000 });
    try {
      await element.evaluate(still);
      return await element.click();
    } catch (error) {
      // what was found was made anew before the mouse was there
      if (attempt === 3 || !/detached|not clickable/.test(error.message)) throw error;
    }
  }
}

/** The model answers and the session is there. */
export const ready = (page) => until(page, () => document.querySelector(".live.okc"));

/** Waits until `n` messages stand in the thread and no reply comes in. */
export const messages = (page, n) => until(page, (n) => document.querySelectorAll(".thread .msg:not(.replying)").length === n && !document.querySelector(".replying"), n);

/** A conversation with enough in it to be compacted: `turns` exchanges about a bakery. */
export function bakery(turns, words = 30) {
  const messages = [];
  for (let i = 1; i <= turns; i += 1) {
    const filler = (who) => Array.from({ length: words }, (_, k) => `${who} word ${k} of turn ${i}`).join(", ");
    messages.push({ role: "user", content: `Question ${i} about oven ${100 + i}: ${filler("a")}.` });
    messages.push({ role: "assistant", content: `Oven ${100 + i} bakes at ${200 + i} °C. The recipe lies in /recipes/bread-${i}.md. ${filler("some")}.` });
  }
  return messages;
}
