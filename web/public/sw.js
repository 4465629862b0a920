// The shell without a network: everything in assets.json, one cache for each build.
//
// A page is served whole from one build. When a new one is found, it is fetched beside the old one and
// takes its place with the next visit; the old one stays until then, for parts that its page loads later. What goes to a model server never passes through here.

const NAME = "palimpsest-shell-";

/** The cache that is served from: the newest one that is complete. */
const current = async () => {
  const names = (await caches.keys()).filter((name) => name.startsWith(NAME));
  return names.length ? caches.open(names.at(-1)) : undefined;
};

/** Fetches the build that the server has now, if it is not here. */
async function renew() {
  const answer = await fetch("assets.json", { cache: "no-store" });
  if (!answer.ok) throw new Error(`assets.json: ${answer.status}`);
  const { version, files } = await answer.json();
  const name = NAME + version;
  const before = (await caches.keys()).filter((other) => other.startsWith(NAME));
  if (before.includes(name)) return;
  const cache = await caches.open(name);
  try {
    await cache.addAll(["./", ...files.filter((file) => !/\.(br|gz)$/.test(file) && file !== "sw.js")]);
  } catch (error) {
    await caches.delete(name);
    throw error;
  }
  for (const other of before.slice(0, -1)) await caches.delete(other);
}

addEventListener("install", (event) => event.waitUntil(renew().then(() => skipWaiting())));
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  if (request.mode === "navigate") event.waitUntil(renew().catch(() => {}));
  event.respondWith((async () => {
    const cache = await current();
    const kept = await cache?.match(request, { ignoreSearch: request.mode === "navigate" });
    return kept ?? (await caches.match(request)) ?? fetch(request);
  })());
});
