import { useEffect, useRef, useState } from "react";
import { compact, init } from "palimpsest";

/** What fits of `messages`, and keeps fitting as they grow. */
export function useCompacted(messages, window) {
  const [result, setResult] = useState({ fitting: messages });
  const state = useRef(undefined);

  useEffect(() => {
    let current = true;
    init()
      .then(() => {
        if (!current) return;
        const { messages: fitting, report, state: next } = compact(messages, { window, state: state.current });
        state.current = next;
        setResult({ fitting, report });
      })
      .catch((error) => current && setResult({ fitting: messages, error }));
    return () => {
      current = false;
    };
  }, [messages, window]);

  return result;
}
