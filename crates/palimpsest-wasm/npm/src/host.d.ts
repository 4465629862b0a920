// The few things of Node that the Node entry uses: no types package is needed to build.
declare module "node:fs/promises" {
  export function readFile(path: URL): Promise<Uint8Array<ArrayBuffer>>;
}
