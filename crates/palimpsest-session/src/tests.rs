//! In a real browser: the host's storage under the store contract.

use std::rc::Rc;

use palimpsest_engine::testing::contract;
use wasm_bindgen::prelude::*;
use wasm_bindgen_test::*;

use crate::host::Host;
use crate::storage::HostStore;

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen(module = "/testing/storage.js")]
extern "C" {
    #[wasm_bindgen(js_name = memoryStorage)]
    fn memory_storage() -> JsValue;
}

// the part of the package's `session-host.ts` that storages need
#[wasm_bindgen(inline_js = r#"
export function host_of(storage) {
  return {
    async store(call, given) {
      try {
        return JSON.stringify({ Ok: (await storage[call](JSON.parse(given))) ?? null });
      } catch ({ code, message }) {
        return JSON.stringify({ Err: { code, message } });
      }
    },
  };
}
"#)]
extern "C" {
    fn host_of(storage: JsValue) -> Host;
}

/// S5, I1, I6: a storage in JavaScript holds everything that a store must.
#[wasm_bindgen_test]
async fn the_contract_holds_for_a_storage_in_javascript() {
    let report =
        contract::run_all(async || HostStore::new(Rc::new(host_of(memory_storage())))).await;
    assert!(report.is_ok(), "{report}");
    assert_eq!(report.passed.len(), 24);
}
