export default {
  // the package finds its wasm beside its JavaScript: Vite must not move that
  optimizeDeps: { exclude: ["palimpsest"] },
};
