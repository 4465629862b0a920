// Every screen and state of the app, one after the other, for whoever looks at them: axe, or a camera.

import { importFile, say, transcript } from "./harness.mjs";
import { bakery, click, messages, ready, until } from "./acts.mjs";

/** A session with a goal, pins, snapshots, branches, a layer and a tool call; and two more sessions. */
export async function furnish(page) {
  await ready(page);
  await importFile(page, transcript([{ role: "user", content: "Which bread keeps longest?" }, { role: "assistant", content: "Rye." }], "Rye bread"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Rye bread");
  const talk = bakery(9);
  talk.push({ role: "user", content: "What does the oven say?" });
  talk.push({ role: "assistant", content: null, tool_calls: [{ id: "c1", type: "function", function: { name: "read_oven", arguments: "{\"oven\":104}" } }] });
  talk.push({ role: "tool", tool_call_id: "c1", content: Array.from({ length: 24 }, (_, i) => `sensor ${i}: ${200 + i} °C`).join("\n") });
  talk.push({ role: "assistant", content: "It is **204 °C** at the door:\n\n```rust\nfn main() { println!(\"204\"); }\n```\n\n| sensor | °C |\n|---|--:|\n| door | 204 |\n" });
  await importFile(page, transcript([{ role: "system", content: "You know about bread." }, ...talk], "Sourdough starter"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Sourdough starter");
  await say(page, "/goal Bake a rye loaf that keeps for a week");
  await until(page, () => document.querySelector(".notes .goal"));
  await say(page, "/decide The starter is fed at night");
  await say(page, "/pin Answer in grams, never in cups");
  await say(page, "/snapshot before the second rise");
  await until(page, () => document.querySelectorAll(".toast").length > 0);
  await click(page, "#compact");
  await page.waitForSelector(".card.done");
  await say(page, "And how long does it rise?");
  await messages(page, 23);
  await page.$eval("#again", (button) => button.click());
  await until(page, () => document.querySelector(".flip"));
  await until(page, () => !document.querySelector(".replying"));
  for (const close of await page.$$(".toast .quiet")) await close.click().catch(() => {});
}

const open = (hash) => async (page) => {
  await page.evaluate((hash) => (location.hash = hash), hash);
  await page.waitForSelector(`#s-${hash}`, { visible: true });
};

const lens = (name) => async (page) => {
  await open("context")(page);
  await click(page, `.lens [data-lens=${name}]`);
};

const tab = (n) => async (page) => {
  await open("settings")(page);
  await click(page, `.tabs button:nth-child(${n})`);
};

const command = (line, selector = "dialog[open]") => async (page) => {
  await open("chat")(page);
  await page.$eval("#msg", (field) => (field.value = ""));
  await say(page, line);
  await page.waitForSelector(selector);
};

const dialog = (hash, act) => async (page) => {
  await open(hash)(page);
  await act(page);
  await page.waitForSelector("dialog[open]");
};

/** Clicks what may be hidden at this width. */
const press = (selector) => (page) => page.$eval(selector, (element) => element.click());

/** Name and way of every state. A dialog is closed again by [`leave`]. */
export const STATES = [
  ["chat", open("chat")],
  ["chat-notes", async (page) => { await open("chat")(page); await page.evaluate(() => document.querySelector(".notes-open")?.click()); }],
  ["chat-code", async (page) => { await open("chat")(page); await page.$eval(".thread code .tk", (k) => k.scrollIntoView({ block: "center" })); }],
  ["chat-trust", async (page) => { await open("chat")(page); await page.evaluate(() => document.querySelector(".notes-open")?.click()); await page.$eval("#trust", (e) => { e.open = true; e.scrollIntoView({ block: "center" }); }); }],
  ["chat-top", async (page) => { await open("chat")(page); await page.$eval(".thread", (t) => (t.scrollTop = 0)); }],
  ["chat-card", async (page) => { await open("chat")(page); await page.$eval(".card", (c) => c.scrollIntoView({ block: "center" })); }],
  ["chat-commands", async (page) => { await open("chat")(page); await page.focus("#msg"); await page.keyboard.type("/"); await page.waitForSelector(".offered"); }],
  ["context-overlay", lens("overlay")],
  ["context-said", lens("said")],
  ["context-sees", lens("sees")],
  ["log", async (page) => { await open("log")(page); await page.waitForSelector("#log tbody tr"); }],
  ["log-turns", async (page) => { await open("log")(page); await page.waitForSelector(".turns"); await page.$eval("#h-turns", (h) => { h.parentElement.querySelector("details").open = true; h.scrollIntoView(); }); }],
  ["replay", async (page) => { await open("replay")(page); if (!(await page.$("#replayed[data-done]"))) { await click(page, "#replay-run"); await page.waitForSelector("#replayed[data-done]", { timeout: 120_000 }); } }],
  ["library", open("library")],
  ["library-search", async (page) => { await open("library")(page); await page.type("#search-all", "oven"); await page.waitForSelector(".hits"); }],
  ["settings-connection", tab(1)],
  ["settings-model", tab(2)],
  ["settings-model-own", async (page) => { await tab(1)(page); await tab(2)(page); await page.$eval("#model-editor", (e) => { e.open = true; e.scrollIntoView(); }); await page.$eval("#own-share", (f) => { f.value = "2"; f.dispatchEvent(new Event("change", { bubbles: true })); }); await page.waitForSelector("#own-share[aria-invalid]"); }],
  ["settings-policy-all", async (page) => { await tab(1)(page); await tab(2)(page); await page.$eval("#policy-editor", (e) => { e.open = true; for (const more of e.querySelectorAll(".more-fields")) more.open = true; e.querySelector("#policy-headings").value = "short"; e.querySelector("#policy-out-rules").value = "* → shorten"; e.querySelector("#policy-headings").dispatchEvent(new Event("input", { bubbles: true })); }); await page.waitForSelector("#policy-out-rules[aria-invalid]"); await page.$eval(".more-fields", (e) => e.scrollIntoView()); }],
  ["settings-policy-differs", async (page) => { await page.$eval("#policy-differs", (e) => e.scrollIntoView({ block: "center" })); await page.waitForSelector("#policy-differs li"); }],
  ["settings-policy", async (page) => { await tab(1)(page); await tab(2)(page); await page.$eval("#policy-editor", (e) => { e.open = true; e.scrollIntoView(); }); await page.waitForSelector("#policy-tried p"); }],
  ["settings-policy-wrong", async (page) => { await tab(1)(page); await tab(2)(page); await page.$eval("#policy-editor", (e) => { e.open = true; e.querySelector("#policy-at").value = "no"; e.querySelector("#policy-at").dispatchEvent(new Event("input", { bubbles: true })); e.scrollIntoView(); }); await page.waitForSelector("#policy-at[aria-invalid]"); }],
  ["settings-appearance", tab(3)],
  ["settings-keys", tab(4)],
  ["dialog-goal", command("/goal")],
  ["dialog-snapshots", async (page) => { await command("/restore")(page); await click(page, "dialog .line-list li .link"); await page.waitForSelector(".ask"); }],
  ["dialog-keys", command("/help")],
  ["dialog-model", command("/model")],
  ["dialog-preview", command("/preview")],
  ["dialog-lift", command("/lift 1")],
  ["dialog-layer", dialog("chat", press(".card.done .acts .btn"))],
  ["dialog-compare", dialog("chat", press(".card.done .acts .btn:last-child"))],
  ["dialog-edit", dialog("chat", press(".msg.you [aria-label^='Edit and send again']"))],
  ["dialog-pin", dialog("chat", press("#add-pin"))],
  ["dialog-system", dialog("chat", press("#edit-system"))],
  ["dialog-import", dialog("library", press("#s-library .acts .btn:nth-child(2)"))],
  ["dialog-erase", dialog("library", press("#erase"))],
];

/** What there is to see when no model answers, nothing can be kept, or the page has broken. */
export const TROUBLE = [
  ["trouble-chat", async (page) => { await open("chat")(page); await page.waitForSelector(".notice"); }],
  ["trouble-said", async (page) => { await open("chat")(page); await say(page, "Is anybody there?"); await page.waitForSelector(".toast.bad"); }],
  ["trouble-doctor", async (page) => { await tab(1)(page); await page.waitForSelector(".checks .badc, .checks .bad"); }],
  ["trouble-model", command("/model")],
  ["trouble-library", open("library")],
  ["trouble-crash", async (page) => { await open("chat")(page); await page.$eval("#crash", (note) => { note.hidden = false; note.querySelector("code").textContent = "panicked at src/somewhere.rs:12"; }); }],
];

/** Closes what a state has opened. */
export async function leave(page) {
  await page.evaluate(() => {
    document.querySelector("dialog [aria-label=Close]")?.click();
    document.getElementById("crash").hidden = true;
    if (document.documentElement.hasAttribute("data-notes")) document.querySelector(".notes-close").click();
    const field = document.querySelector("#msg");
    if (field.value) {
      field.value = "";
      field.dispatchEvent(new Event("input"));
    }
  });
  await until(page, () => !document.querySelector("dialog"));
}

/** Width and colours. */
export async function look(page, width, colours) {
  await page.setViewport({ width, height: width < 500 ? 780 : 900 });
  // what a session emulates ends with it: it is kept as long as the page
  const client = (page.looks ??= await page.createCDPSession());
  await client.send("Emulation.setEmulatedMedia", { features: [
    { name: "prefers-color-scheme", value: colours === "dark" ? "dark" : "light" },
    { name: "forced-colors", value: colours === "forced" ? "active" : "none" },
  ] });
}
