import { useMemo, useState } from "react";
import { useCompacted } from "./use-compacted.js";

const history = Array.from({ length: 60 }, (_, i) => ({
  role: i % 2 ? "assistant" : "user",
  content: `Message ${i}: the train to city ${i} leaves at ${i % 24}:15 from platform ${i % 12} and costs ${20 + i} EUR.`,
}));

export function App() {
  const [length, setLength] = useState(20);
  const messages = useMemo(() => history.slice(0, length), [length]);
  const { fitting, report, error } = useCompacted(messages, 1024);

  return (
    <main>
      <h1>palimpsest with React</h1>
      <label>
        Messages said{" "}
        <input type="range" min="2" max={history.length} value={length} onChange={(e) => setLength(Number(e.target.value))} />
      </label>
      <button onClick={() => setLength(history.length)}>All {history.length}</button>
      <output id="result" aria-live="polite">
        {error ? `${error.code}: ${error.message}` : report ? `${length} said, ${fitting.length} sent, ${report.layers} layers` : "Loading…"}
      </output>
    </main>
  );
}
