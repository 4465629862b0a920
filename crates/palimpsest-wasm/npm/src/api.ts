// What every entry exports beside its own `init`.

/// <reference lib="esnext.disposable" preserve="true" />

import { call } from "./runtime.js";

export {
  compact,
  compactWith,
  type CompactOptions,
  type CompactReport,
  type CompactState,
  type CompactWithOptions,
  type Compacted,
  type Goal,
  type Policy,
  type PolicyName,
  type SummaryJob,
} from "./compact.js";
export { PalimpsestError, type ErrorCode } from "./errors.js";
export { replay, type PassFigures, type PolicyReplay, type ReplayOptions, type ReplayReport } from "./replay.js";
export type { WasmSource } from "./runtime.js";
export { countTokens, Tokenizer, type Count } from "./tokenizer.js";
export { validate, type Dialect, type Problem, type Validation } from "./validate.js";

/** The package's version. */
export function version(): string {
  return call("version()", (module) => module.version());
}
