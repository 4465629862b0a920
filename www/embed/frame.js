// The app in the frame: its sessions and its model server are the page's around it, and only that page's.

import { mount, parentPort, vscodeActions, vscodeStorage, vscodeTransport } from "./palimpsest-ui/dist/ui.js";

const host = new URLSearchParams(location.search).get("host");
// who may embed this: here any page of this machine, yours has a list
if (new URL(host).hostname !== "localhost") throw new Error(`${host} may not embed this`);
const port = parentPort(host);
await mount(document.getElementById("app"), {
  storage: vscodeStorage(port),
  transport: vscodeTransport(port),
  host: vscodeActions(port),
  features: { sidebar: false },
});
