// The shell without a network: each build of the app in a cache of its own.
//
// The build writes `BUILD` in front of this: its version, and the names of its files. Each name carries the hash of what is
// in the file, so a name never stands for two contents. A page is served by the build that it began with: whatever it asks
// for later is looked up in every complete cache, and a cache stays as long as a page of it is open. A cache counts only
// with its mark, which is written after everything else is there. What goes to a model server never passes through here.

/** Caches and locks of this app. Another copy of it may live at another path of the same origin. */
const OURS = `palimpsest-build ${new URL(registration.scope).pathname} `;

/** The cache of this build. Pages of the build hold a shared lock of that name (see boot.js). */
const OWN = OURS + BUILD.version;

/** The mark of a cache that is complete; what stands in it is when that was. */
const COMPLETE = "build-is-complete";

/** When a page was last begun from a cache, or the cache was filled. */
const BEGUN = "page-was-begun";

/** A page that was begun this recently may not hold its lock yet, in milliseconds. */
const BEGINNING = 60_000;

const note = (cache, name) => cache.put(name, new Response(String(Date.now())));
const noted = async (cache, name) => Number((await (await cache.match(name))?.text()) ?? 0);

/** A file as the server of this build gives it. */
async function fetched(name, options) {
  const answer = await fetch(name, options);
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  // some servers answer with a page where there is no file
  if (name !== "./" && answer.headers.get("content-type")?.startsWith("text/html")) throw new Error(`${name} is not there`);
  return answer;
}

/** Fetches this build. What an attempt that failed has brought already is kept. */
async function install() {
  const cache = await caches.open(OWN);
  const page = await fetched("./", { cache: "no-store" });
  const text = await page.text();
  if (!text.includes(`data-build="${BUILD.version}"`)) throw new Error("The server has another build by now.");
  await Promise.all(BUILD.files.map(async (name) => {
    if (!(await cache.match(name))) await cache.put(name, await fetched(name));
  }));
  // made anew: a page that came from a redirection is not shown
  await cache.put("./", new Response(text, { headers: page.headers }));
  // no page is of it yet and its lock goes with the installation: a worker that tidies up before this one is active lets it stay
  await note(cache, BEGUN);
  await note(cache, COMPLETE);
}

/** The other complete caches, newest first. */
async function others() {
  const found = [];
  for (const name of await caches.keys()) {
    if (!name.startsWith(OURS) || name === OWN) continue;
    const cache = await caches.open(name);
    const at = await noted(cache, COMPLETE);
    if (at) found.push({ cache, at });
  }
  return found.sort((a, b) => b.at - a.at).map(({ cache }) => cache);
}

/** Deletes the builds that no page is of, and caches of before builds had one each. */
async function tidy() {
  const { held } = await navigator.locks.query();
  const used = new Set(held.map((lock) => lock.name));
  for (const name of await caches.keys()) {
    const old = name.startsWith("palimpsest-shell-");
    if (!old && (!name.startsWith(OURS) || name === OWN || used.has(name))) continue;
    if (!old && Date.now() - (await noted(await caches.open(name), BEGUN)) < BEGINNING) continue;
    await caches.delete(name);
  }
}

async function begin() {
  const cache = await caches.open(OWN);
  const page = await cache.match("./");
  if (page) await note(cache, BEGUN);
  return page;
}

async function find(request) {
  const options = { ignoreVary: true };
  const own = await (await caches.open(OWN)).match(request, options);
  if (own) return own;
  for (const cache of await others()) {
    const kept = await cache.match(request, options);
    if (kept) return kept;
  }
}

// the lock keeps others from deleting what is not complete yet
addEventListener("install", (event) => event.waitUntil(navigator.locks.request(OWN, { mode: "shared" }, install).then(() => skipWaiting())));
addEventListener("activate", (event) => event.waitUntil(clients.claim().then(tidy)));
addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  if (request.mode !== "navigate") return event.respondWith(find(request).then((kept) => kept ?? fetch(request)));
  const { pathname } = new URL(registration.scope);
  if (url.pathname !== pathname && url.pathname !== `${pathname}index.html`) return;
  event.waitUntil(tidy());
  event.respondWith(begin().then((page) => page ?? fetch(request)));
});
