// The page without a network. The build writes here which files it has, and a name for all of them together.

const BUILD = { version: "", files: [] };

const OURS = "palimpsest-forget ";
const OWN = OURS + BUILD.version;

/** The page and its files belong together: all come from one cache, or none. */
async function install() {
  const cache = await caches.open(OWN);
  await cache.addAll(BUILD.files.map((name) => new Request(name, { cache: "no-cache" })));
}

async function tidy() {
  for (const name of await caches.keys()) if (name.startsWith(OURS) && name !== OWN) await caches.delete(name);
}

addEventListener("install", (event) => event.waitUntil(install().then(() => skipWaiting())));
addEventListener("activate", (event) => event.waitUntil(tidy().then(() => clients.claim())));
addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(registration.scope)) return;
  const find = async () => (await caches.open(OWN)).match(request, { ignoreSearch: true, ignoreVary: true });
  event.respondWith(find().then((kept) => kept ?? fetch(request)));
});
