// The models the fake pretends to have, and what it says about them.

import { goTime } from "./wire.mjs";

/** A byte-level alphabet: one printable character per byte, as GPT-2 style vocabularies write them. */
export function byteAlphabet() {
  const printable = [...range(33, 126), ...range(161, 172), ...range(174, 255)];
  const chars = [];
  let next = 256;
  for (let byte = 0; byte < 256; byte += 1) {
    chars.push(String.fromCodePoint(printable.includes(byte) ? byte : next++));
  }
  return chars;
}

function range(from, to) {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

/**
 * A vocabulary of 256 bytes and three special tokens: with it, counts are bytes, and can be checked by hand. The one merge,
 * without which it would be no byte-pair vocabulary, is of two control characters that no text has side by side.
 */
export function byteVocabulary() {
  const bytes = byteAlphabet();
  const tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", ...bytes, bytes[0] + bytes[1]];
  return { tokens, merges: [`${bytes[0]} ${bytes[1]}`], token_type: tokens.map((_, i) => (i < 3 ? 3 : 1)) };
}

function model(name, { family, size, quantization, trained, capabilities, bytes, digest }) {
  return {
    name,
    modified_at: "2026-11-01T10:00:00.000000000Z",
    size: bytes,
    digest: digest.repeat(64).slice(0, 64),
    details: { parent_model: "", format: "gguf", family, families: [family], parameter_size: size, quantization_level: quantization },
    trained,
    embedding: 576,
    capabilities,
    show: {
      parameters: 'stop                           "<|im_start|>"\nstop                           "<|im_end|>"',
      template: "{{- range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n{{ end }}<|im_start|>assistant\n",
      model_info: {
        "general.architecture": family,
        "general.parameter_count": parameterCount(size),
        [`${family}.context_length`]: trained,
        [`${family}.embedding_length`]: 576,
        "tokenizer.ggml.add_bos_token": false,
        "tokenizer.ggml.merges": null,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.token_type": null,
        "tokenizer.ggml.tokens": null,
      },
      tensors: [{ name: "output_norm.weight", type: "F32", shape: [576] }],
    },
  };
}

/** Numbers as in "134.52M" or "3.2B". */
function parameterCount(size) {
  return Math.round(Number.parseFloat(size) * (size.endsWith("B") ? 1e9 : 1e6));
}

/** What is installed unless the script says otherwise. */
export function defaultModels() {
  return [
    model("llama3.2:3b", { family: "llama", size: "3.2B", quantization: "Q4_K_M", trained: 131072, capabilities: ["completion", "tools"], bytes: 2019393189, digest: "a80c4f17" }),
    model("qwen3:4b", { family: "qwen3", size: "4.0B", quantization: "Q4_K_M", trained: 40960, capabilities: ["completion", "tools", "thinking"], bytes: 2620788019, digest: "e55aed6f" }),
    model("smollm2:135m", { family: "llama", size: "134.52M", quantization: "Q4_1", trained: 8192, capabilities: ["completion"], bytes: 98362745, digest: "fd5f44c0" }),
  ];
}

/** A model that was downloaded. */
export function pulled(name, bytes) {
  return model(name, { family: "gemma3", size: "1.0B", quantization: "Q4_K_M", trained: 32768, capabilities: ["completion"], bytes, digest: "8648f39d" });
}

/** A name without a tag means the tag `latest`. */
export function withTag(name) {
  return /:[^/]*$/.test(name) ? name : `${name}:latest`;
}

/** The installed model of that name. */
export function findModel(models, name) {
  return models.find((m) => withTag(m.name) === withTag(name ?? ""));
}

/** GET /api/tags. */
export function tags(models) {
  return {
    models: models.map((m) => ({
      name: withTag(m.name),
      model: withTag(m.name),
      modified_at: m.modified_at,
      size: m.size,
      digest: m.digest,
      details: { ...m.details, context_length: m.trained, embedding_length: m.embedding },
      capabilities: m.capabilities,
    })),
  };
}

/** POST /api/show. Long lists of the model's data come only when asked for with `verbose`. */
export function show(m, verbose) {
  const info = { ...m.show.model_info };
  if (verbose && m.tokenizer === "bytes") {
    for (const [key, value] of Object.entries(byteVocabulary())) info[`tokenizer.ggml.${key}`] = value;
  }
  if (!verbose) for (const key of Object.keys(info)) if (Array.isArray(info[key])) info[key] = null;
  return {
    parameters: m.show.parameters,
    template: m.show.template,
    details: m.details,
    model_info: info,
    tensors: m.show.tensors,
    capabilities: m.capabilities,
    modified_at: m.modified_at,
  };
}

/** GET /api/ps: `loaded` maps a name to `{window, expires}`. */
export function ps(models, loaded) {
  return {
    models: [...loaded].flatMap(([name, { window, expires }]) => {
      const m = findModel(models, name);
      if (!m) return [];
      return [{
        name: withTag(m.name), model: withTag(m.name), size: m.loaded_size ?? m.size, digest: m.digest, details: m.details,
        expires_at: goTime(expires), size_vram: 0, context_length: window,
      }];
    }),
  };
}
