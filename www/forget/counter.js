// Counts tokens by estimate. The page has no vocabulary, so it does without the package's tokenizers.

import { call, toText } from "./core.js";

let estimator;

/** The one counter. */
export const counterOf = () => (estimator ??= call("countTokens()", (module) => module.Counter.estimator()));

/** Tokens of a list of messages as a prompt. */
export const countTokens = (messages) => call("countTokens()", () => counterOf().countMessages(toText(messages)));
