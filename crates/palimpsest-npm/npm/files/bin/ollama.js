// One summary by a model of an Ollama server.

/**
 * The text for a job. `num_ctx` is the window, nothing is cut or shifted silently, and nothing is thought aloud.
 * Rejects with a sentence that says what to do.
 */
export async function ollama(address, model, window, job, signal) {
  let response;
  try {
    response = await fetch(new URL("/api/chat", address), {
      method: "POST",
      signal,
      body: JSON.stringify({
        model,
        stream: false,
        think: false,
        truncate: false,
        shift: false,
        messages: [{ role: "system", content: job.system }, { role: "user", content: job.prompt }],
        options: { num_ctx: window, num_predict: job.maxTokens, temperature: 0 },
      }),
    });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new Error(`No server answers at ${address}: is Ollama running?`, { cause: error });
  }
  const text = await response.text();
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new Error(`${address} answered ${response.status}, and not as Ollama does: ${text.slice(0, 200)}`);
  }
  if (!response.ok || answer.error) throw new Error(`Ollama says: ${answer.error ?? response.status}`);
  return answer.message?.content ?? "";
}
