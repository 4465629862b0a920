import type { CompactReport } from "./compact.js";
import { forgotten, type FactClass, type Forgotten, type ForgottenOptions, type GoneFact, type ListSize } from "./forgotten.js";
import { toText } from "./json.js";
import { check } from "./options.js";
import { call } from "./runtime.js";

/** What else {@link receipt} writes down. */
export interface ReceiptOptions extends ForgottenOptions {
  /** The model's window, in tokens. */
  window?: number;
  /** Who made the window: a policy's name, or another program's. */
  by?: string;
  /** The report of `compact`, if it made the window: it says why. */
  report?: CompactReport;
}

/** A list, its size, and by what it is recognised. */
export interface ReceiptList extends ListSize {
  /** SHA-256 of the list as JSON text without spaces, in hexadecimal digits. */
  sha256: string;
}

/**
 * The receipt of a compaction: what was kept, what was lost, why, and digests of both lists. Its JSON schema comes with the package,
 * as `palimpsest/receipt.schema.json`.
 */
export interface Receipt {
  /** Which form this is. */
  schema: "palimpsest/receipt@1";
  /** The version of the package that measured. */
  version: string;
  /** Who made the window; null if nobody said. */
  by: string | null;
  /** The model's window; null if nobody said. */
  limit: { window: number | null; tokens: number | null };
  history: ReceiptList;
  window: ReceiptList;
  /** How many facts were looked for and stand. */
  kept: { facts: number; of: number; classes: { class: FactClass; kept: number; of: number }[]; messages: number };
  /** What does not stand, with the message that said it. */
  lost: { facts: number; list: GoneFact[]; messages: number[] };
  /** What stands although it was replaced. */
  stale: Forgotten["stale"];
  /** Calls and results that stand alone. */
  orphans: Forgotten["orphans"];
  /** What was done, in the words of the report; null if nobody gave one. */
  why: Pick<CompactReport, "passes" | "covered" | "quoted" | "shortened" | "summarised" | "demands" | "recalled" | "facts" | "lossy" | "adjustments" | "codes"> | null;
}

/** A message counts as kept from here on: less than all of its words is a shortened one. */
const WHOLE = 0.995;

/**
 * Writes the receipt of a compaction: something to keep beside the request, to compare in continuous integration, or to show to
 * whoever asks what the model did not see. The window may be made by anybody.
 *
 * @throws {@link PalimpsestError} as {@link forgotten}
 *
 * @example
 * ```ts
 * import { compact, init, receipt } from "palimpsest";
 *
 * await init();
 * const history = Array.from({ length: 300 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: `Parcel ${1000 + i} goes to gate ${i % 9}.` }));
 * const { messages, report } = compact(history, { window: 2048 });
 * const { kept, lost, history: { sha256 } } = await receipt(history, messages, { window: 2048, by: "balanced", report });
 * console.log(kept.facts + lost.facts === kept.of, sha256.length); // true 64
 * ```
 */
export async function receipt(history: readonly unknown[], messages: readonly unknown[], options: ReceiptOptions = {}): Promise<Receipt> {
  check(options, ["dialect", "tokenizer", "before", "labels", "window", "by", "report"]);
  const { window, by, report, ...known } = options;
  const [found, ofHistory, ofWindow] = await Promise.all([forgotten(history, messages, known), digest(history), digest(messages)]);
  const classes = new Map<FactClass, { kept: number; of: number }>();
  for (const { class: name, said, gone } of found.classes) {
    const sum = classes.get(name) ?? { kept: 0, of: 0 };
    classes.set(name, { kept: sum.kept + said - gone, of: sum.of + said });
  }
  const lost = found.shares.flatMap((share, n) => (share < WHOLE ? [n] : []));
  return {
    schema: "palimpsest/receipt@1",
    version: call("receipt()", (module) => module.version()),
    by: by ?? null,
    limit: { window: window ?? null, tokens: report?.limit ?? null },
    history: { ...found.history, sha256: ofHistory },
    window: { ...found.window, sha256: ofWindow },
    kept: {
      facts: found.said - found.lost,
      of: found.said,
      classes: [...classes].map(([name, sum]) => ({ class: name, ...sum })),
      messages: found.shares.length - lost.length,
    },
    lost: { facts: found.lost, list: found.gone, messages: lost },
    stale: found.stale,
    orphans: found.orphans,
    why: report === undefined ? null : reasons(report),
  };
}

function reasons({ passes, covered, quoted, shortened, summarised, demands, recalled, facts, lossy, adjustments, codes }: CompactReport): NonNullable<Receipt["why"]> {
  return { passes, covered, quoted, shortened, summarised, demands, recalled, facts, lossy, adjustments, codes };
}

async function digest(messages: readonly unknown[]): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(toText(messages)));
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
