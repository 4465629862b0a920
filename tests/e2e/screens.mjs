// Every screen and state of the app, one after the other, for whoever looks at them: axe, or a camera.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { importFile, root, say, transcript } from "./harness.mjs";
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

const tab = (name) => async (page) => {
  await open("settings")(page);
  await click(page, `[data-tab=${name}]`);
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
/** Clicks what stands there at that moment: found and clicked in one step, since a list may be made anew between two. */
const press = (selector) => (page) => page.evaluate((selector) => document.querySelector(selector).click(), selector);

/** Alters what is stored of a message, or puts it back. */
const altered = (page, on) => page.evaluate((on) => new Promise((done, fail) => {
  const opening = indexedDB.open("palimpsest");
  opening.onerror = () => fail(opening.error);
  opening.onsuccess = () => {
    const reading = opening.result.transaction("messages", "readwrite").objectStore("messages").openCursor();
    reading.onsuccess = () => {
      const row = reading.result;
      if (on) globalThis.before = row.value;
      row.update(on ? row.value.replaceAll("e", "3") : globalThis.before).onsuccess = () => {
        opening.result.close();
        done();
      };
    };
  };
}), on);

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
  ["library-search", async (page) => { await open("library")(page); await page.type("#search-all", "oven"); await page.waitForSelector(".found summary"); await page.$eval(".found details", (d) => (d.open = true)); }],
  ["library-nothing", async (page) => { await open("library")(page); await page.$eval("#search-all", (f) => (f.value = "")); await page.type("#search-all", "zebra crossing"); await page.waitForSelector("#s-library .empty"); }],
  ["library-snapshots", async (page) => { await open("chat")(page); await open("library")(page); await page.$eval("#s-library .line-list .mine .link:nth-of-type(2)", (b) => { b.click(); b.scrollIntoView({ block: "center" }); }); await page.waitForSelector("#s-library .ask .btn.solid"); }],
  ["library-storage", async (page) => { await open("chat")(page); await open("library")(page); await press("#integrity")(page); await page.waitForSelector(".checked .okc"); await page.$eval(".store", (s) => s.scrollIntoView()); }],
  ["library-damaged", async (page) => { await open("library")(page); await altered(page, true); await press("#integrity")(page); await page.waitForSelector(".checked .warnc"); await page.$eval(".checked", (s) => s.scrollIntoView({ block: "center" })); }, (page) => altered(page, false)],
  ["settings-connection", tab("connection")],
  ["settings-model", tab("model")],
  ["settings-model-own", async (page) => { await tab("connection")(page); await tab("model")(page); await page.$eval("#model-editor", (e) => { e.open = true; e.scrollIntoView(); }); await page.$eval("#own-share", (f) => { f.value = "2"; f.dispatchEvent(new Event("change", { bubbles: true })); }); await page.waitForSelector("#own-share[aria-invalid]"); }],
  ["settings-policy-all", async (page) => { await tab("connection")(page); await tab("compaction")(page); await page.$eval("#policy-editor", (e) => { e.open = true; for (const more of e.querySelectorAll(".more-fields")) more.open = true; e.querySelector("#policy-headings").value = "short"; e.querySelector("#policy-out-rules").value = "* → shorten"; e.querySelector("#policy-headings").dispatchEvent(new Event("input", { bubbles: true })); }); await page.waitForSelector("#policy-out-rules[aria-invalid]"); await page.$eval("#policy-editor .more-fields", (e) => e.scrollIntoView()); }],
  ["settings-policy-differs", async (page) => { await page.$eval("#policy-differs", (e) => e.scrollIntoView({ block: "center" })); await page.waitForSelector("#policy-differs li"); }],
  ["settings-policy", async (page) => { await tab("connection")(page); await tab("compaction")(page); await page.$eval("#policy-editor", (e) => { e.open = true; e.scrollIntoView(); }); await page.waitForSelector("#policy-tried p"); }],
  ["settings-policy-wrong", async (page) => { await tab("connection")(page); await tab("compaction")(page); await page.$eval("#policy-editor", (e) => { e.open = true; e.querySelector("#policy-at").value = "no"; e.querySelector("#policy-at").dispatchEvent(new Event("input", { bubbles: true })); e.scrollIntoView(); }); await page.waitForSelector("#policy-at[aria-invalid]"); }],
  ["settings-profiles", async (page) => { await tab("connection")(page); await tab("compaction")(page); await page.$eval("#profiles", (e) => { e.open = true; e.scrollIntoView(); e.querySelector("#profile-name").value = "Rust work"; e.querySelector("#profile-rules").value = "qwen3* → shorten"; }); await press("#profile-save")(page); await page.waitForSelector("#profile-rules[aria-invalid]"); }],
  ["settings-tools", tab("tools")],
  ["settings-appearance", tab("appearance")],
  ["settings-data", tab("data")],
  ["settings-keys", tab("shortcuts")],
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
  ["dialog-pin-message", dialog("chat", press(".msg.you [aria-label^='Pin what it says']"))],
  ["dialog-system", dialog("chat", press("#edit-system"))],
  ["dialog-system-parts", async (page) => { await dialog("chat", press("#edit-system"))(page); await press("#prompt-parts")(page); await press("#add-skill")(page); await page.waitForSelector("#skill-text-0"); await page.$eval("#skill-text-0", (field) => field.scrollIntoView({ block: "center" })); }],
  ["dialog-import", dialog("library", press("#s-library .acts .btn:nth-child(2)"))],
  ["dialog-erase", dialog("library", press("#erase"))],
];

/** What there is to see when no model answers, nothing can be kept, or the page has broken. */
export const TROUBLE = [
  ["trouble-chat", async (page) => { await open("chat")(page); await page.waitForSelector(".notice"); }],
  ["trouble-said", async (page) => { await open("chat")(page); await say(page, "Is anybody there?"); await page.waitForSelector(".toast.bad"); }],
  ["trouble-doctor", async (page) => { await tab("connection")(page); await page.waitForSelector(".checks .badc, .checks .bad"); }],
  ["trouble-model", command("/model")],
  ["trouble-library", open("library")],
  ["trouble-crash", async (page) => { await open("chat")(page); await page.$eval("#crash", (note) => { note.hidden = false; note.querySelector("code").textContent = "panicked at src/somewhere.rs:12"; }); }],
];

/** Opens the session of that name, or a new one. */
const session = async (page, name) => {
  await open("chat")(page);
  await page.evaluate((name) => (name ? [...document.querySelectorAll("[data-session]")].find((s) => s.textContent.includes(name)) : document.querySelector(".side .new")).click(), name);
  await until(page, (name) => document.querySelector("#h-chat").textContent === (name ?? "New session"), name);
};

const begun = async (page) => {
  await session(page);
  await say(page, "Tell me all about rye");
  await until(page, () => /word9 /.test(document.querySelector(".replying .prose")?.textContent ?? ""));
};

const stopped = async (page) => {
  await press("#stop")(page);
  await until(page, () => !document.querySelector(".replying"));
};

/** A conversation that is too long for its window, in a chat whose model takes its time. */
export async function hurry(page) {
  await ready(page);
  await importFile(page, transcript(bakery(9), "Bakery"));
  await until(page, () => document.querySelector("#h-chat").textContent === "Bakery");
}

/** What there is to see while something goes on: name, way, and what ends it. */
export const BUSY = [
  ["busy-over", (page) => session(page, "Bakery")],
  ["busy-working", async (page) => { await session(page, "Bakery"); await press("#compact")(page); await page.waitForSelector(".card.working"); await page.$eval(".card.working", (c) => c.scrollIntoView({ block: "center" })); }, async (page) => { await press(".card.working .btn")(page); await until(page, () => !document.querySelector(".card.working")); }],
  ["busy-empty", (page) => session(page)],
  ["busy-reply", begun, stopped],
  ["busy-queued", async (page) => { await begun(page); await say(page, "And then about wheat, which some people like better"); await page.waitForSelector(".queued"); }, async (page) => { await press(".queued .link")(page); await stopped(page); }],
  ["busy-attached", async (page) => { await session(page); await (await page.$("#attach")).uploadFile(notes()); await page.waitForSelector(".attached li"); }, press(".attached .quiet")],
  ["busy-image", async (page) => { await session(page); await (await page.$("#attach")).uploadFile(PICTURE); await page.waitForSelector(".attached img"); await say(page, "What is on it?"); await until(page, () => document.querySelector(".msg.you .image img")?.complete); await page.$eval(".image", (image) => (image.open = true)); }, stopped],
  ["busy-deleted", async (page) => { await session(page); await say(page, "Short"); await until(page, () => document.querySelector(".replying")); await stopped(page); await press("[data-session][aria-current] ~ [aria-label^='Delete session']")(page); await page.waitForSelector(".toast .btn"); }, press(".toast .btn")],
  ["busy-temporary", async (page) => { await session(page); await press("#temporary")(page); await page.waitForSelector("#keep-session"); await say(page, "Nobody has to find this"); await until(page, () => document.querySelector(".replying")); }, stopped],
];

/** A picture of the app, wider than what is sent. */
const PICTURE = path.join(root, "docs/images/context.png");

function notes() {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "palimpsest-notes-")), "a-file-with-a-rather-long-name-of-its-own.txt");
  fs.writeFileSync(file, "rye\nwheat\n");
  return file;
}

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

/** Words that stand in a column of a letter or two, since something beside them takes their room. */
export const squeezed = (page) => page.$$eval("b, span, td, th, p, dt, dd, label, h2, h3, small", (all) => all.filter((e) => {
  const { width, height } = e.getBoundingClientRect();
  return e.children.length === 0 && e.textContent.trim().length > 2 && width > 0 && width < 24 && height > 44;
}).map((e) => `"${e.textContent.trim().slice(0, 30)}" is a column of letters`));

/** Controls of a screen's head that stand beside the page. What is in a strip that scrolls may. */
export const outside = (page) => page.$$eval(".head :is(a, button, select, input)", (all) => all
  .filter((e) => e.checkVisibility() && !e.closest(".tabs") && (e.getBoundingClientRect().right > innerWidth || e.getBoundingClientRect().left < 0))
  .map((e) => `“${e.textContent || e.id}” stands outside`));

/** Words under the bars that touch each other, or that are cut off. */
export const touching = (page) => page.evaluate(() => {
  const found = [];
  for (const bar of document.querySelectorAll(".bar")) {
    const words = [...bar.querySelectorAll(".tick i, .keys li")].filter((e) => e.checkVisibility() && e.textContent && e.getBoundingClientRect().width > 11);
    const places = words.map((e) => {
      const range = document.createRange();
      range.selectNodeContents(e);
      return [e, range.getBoundingClientRect()];
    });
    for (const [i, [one, a]] of places.entries()) {
      if (one.matches(".keys li") && a.right > one.getBoundingClientRect().right + 1) found.push(`“${one.textContent}” is cut off`);
      for (const [other, b] of places.slice(i + 1)) {
        if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1) found.push(`“${one.textContent}” touches “${other.textContent}”`);
      }
    }
  }
  return found;
});

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
