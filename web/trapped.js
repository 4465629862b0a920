// Stands at the beginning of the app's script: a module that traps, when something calls it, says so on the page. The conversation
// is stored message by message, so nothing is lost with it.
let told = false;
function guarded(exports) {
  const all = { ...exports };
  for (const [name, value] of Object.entries(exports)) {
    if (typeof value !== "function" || (name.startsWith("__") && !name.includes("convert__closures"))) continue;
    all[name] = (...given) => {
      try {
        return value(...given);
      } catch (error) {
        if (error instanceof WebAssembly.RuntimeError && !told) {
          told = true;
          try {
            trapped(error.stack ?? String(error));
          } catch {
            // it cannot even say it
            const note = document.getElementById("crash");
            if (note !== null) note.hidden = false;
          }
        }
        throw error;
      }
    };
  }
  return all;
}
