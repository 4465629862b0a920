//! Who hears that the module has come to its end: nothing that still waits for it would ever hear otherwise.

use std::cell::RefCell;

use js_sys::Function;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

thread_local! {
    static HEARS: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Calls a function with the reason when a fault ends the module. What it throws is ignored.
#[wasm_bindgen(js_name = onPanic)]
pub fn on_panic(hears: Function) {
    HEARS.with(|one| *one.borrow_mut() = Some(hears));
    std::panic::set_hook(Box::new(|info| {
        let why = JsValue::from(info.to_string());
        HEARS.with(|one| {
            if let Ok(one) = one.try_borrow()
                && let Some(hears) = one.as_ref()
            {
                let _ = hears.call1(&JsValue::NULL, &why);
            }
        });
    }));
}
