import { useEffect, useState } from "react";
import { openSession } from "palimpsest";
import { useSession } from "palimpsest/react";
import { llm } from "./model.js";

const said = (i) => ({
  role: i % 2 ? "assistant" : "user",
  content: `Message ${i}: the train to city ${i} leaves at ${i % 24}:15 from platform ${i % 12} and costs ${20 + i} EUR.`,
});

export function App() {
  const chat = useSession(() => openSession({ id: "trains", model: "any", window: 2048, llm }), []);
  const [draft, setDraft] = useState("");
  const { session } = chat;

  // a conversation to begin with
  useEffect(() => {
    if (session && session.info.messages === 0) session.append(Array.from({ length: 20 }, (_, i) => said(i)), { dialect: "openai" });
  }, [session]);

  const more = async () => {
    await session.append(Array.from({ length: 40 }, (_, i) => said(i + 20)), { dialect: "openai" });
    await chat.compact();
  };
  const { budget } = chat;

  return (
    <main>
      <h1>palimpsest with React</h1>
      <button onClick={more} disabled={!session}>Forty more</button>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          chat.send(draft);
          setDraft("");
        }}
      >
        <input aria-label="Message" value={draft} onChange={(event) => setDraft(event.target.value)} />
      </form>
      <ol>
        {chat.messages.slice(-4).map(({ seq, role, parts }) => (
          <li key={seq}>{role}: {parts.map((part) => part.text ?? part.type).join(" ")}</li>
        ))}
        {chat.streaming && <li id="streaming">{chat.streaming.text}…</li>}
      </ol>
      <output id="result" aria-live="polite">
        {chat.error
          ? `${chat.error.code}: ${chat.error.message}`
          : !budget
            ? "Loading…"
            : `${session.info.messages} said, ${chat.layers.length} layers, ${budget.used.tokens <= budget.limit ? "fits" : "over"}${chat.compacting ? ", compacting" : ""}`}
      </output>
    </main>
  );
}
