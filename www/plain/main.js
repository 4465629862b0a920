import { compact, init } from "./palimpsest/dist/index.js";

const $ = (id) => document.getElementById(id);

$("messages").value = JSON.stringify(
  Array.from({ length: 48 }, (_, i) => ({
    role: i % 2 ? "assistant" : "user",
    content: i % 2
      ? `Answer ${i}: the parcel ${1000 + i} left the warehouse on Monday and arrives in ${i} days. It was weighed, labelled and handed over at gate ${i}.`
      : `Where is parcel ${1000 + i + 1}? Never deliver to the neighbour, please.`,
  })),
  null,
  1,
);

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  try {
    const { messages, report } = compact(JSON.parse($("messages").value), { window: Number($("window").value) });
    $("result").textContent = `${report.before.tokens} tokens became ${report.after.tokens} of at most ${report.limit}.`;
    $("messages-after").textContent = JSON.stringify(messages, null, 1);
  } catch (error) {
    $("result").textContent = `${error.code ?? error.name}: ${error.message}`;
  }
});

await init();
$("result").textContent = "Ready.";
