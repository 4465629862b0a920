// The text of a PDF file, page by page. The app loads this script with the first such file that somebody attaches.
import { getDocument, PDFWorker } from "./pdf/pdf.js";

const policy = globalThis.trustedTypes?.createPolicy("palimpsest-pdf", { createScriptURL: () => "pdf/pdf-worker.js" });

/** The words of a page: each line of it a line, without the sign for a letter that the file has no code for. */
const words = (items) => items.map(({ str = "", hasEOL }) => str + (hasEOL ? "\n" : "")).join("").replaceAll("\0", "").trim();

/** The text of a file, the number of each page before it; empty where no page has text. Fails for what is no PDF, and for one with a password. */
export async function text(file) {
  const port = new Worker(policy?.createScriptURL("") ?? "pdf/pdf-worker.js", { type: "module" });
  const worker = PDFWorker.create({ port });
  try {
    const data = new Uint8Array(await file.arrayBuffer());
    const pdf = await getDocument({ data, worker, isEvalSupported: false, useWorkerFetch: false, useSystemFonts: false, disableFontFace: true, verbosity: 0 }).promise;
    const pages = [];
    for (let n = 1; n <= pdf.numPages; n += 1) {
      const page = await pdf.getPage(n);
      const said = words((await page.getTextContent()).items);
      if (said) pages.push(pdf.numPages > 1 ? `[page ${n}]\n${said}` : said);
      page.cleanup();
    }
    return pages.join("\n\n");
  } finally {
    worker.destroy();
    port.terminate();
  }
}
