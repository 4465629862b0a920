// A model that answers without a server, so that the page can be tried anywhere: put `ollama()` or `openai({ url })` in its place.

export const llm = {
  async *chat({ messages }) {
    for (const word of `Of ${messages.length} messages I have read the last one.`.split(" ")) {
      await new Promise((resolve) => setTimeout(resolve, 60));
      yield `${word} `;
    }
  },
};
