//! Settings, in `localStorage` or where a host says.
//!
//! A setting changed in the seconds before a crash may be lost: nothing that matters is kept here.

use std::cell::RefCell;
use std::rc::Rc;

use gloo_storage::{LocalStorage, Storage};
use palimpsest_engine::ports::StoreError;
use palimpsest_text::json;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use wasm_bindgen::JsCast;
use web_sys::Window;

use crate::global::global;

/// Settings as they were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded<T> {
    /// What to work with.
    pub settings: T,
    /// The entries that were of no use and have their default values; `*` if all of them. The old text lies beside the
    /// settings, under the same name with `.old` added.
    pub dropped: Vec<String>,
}

/// Texts by name, in place of `localStorage`.
pub trait Entries {
    /// The text under `name`.
    fn get(&self, name: &str) -> Option<String>;
    /// Keeps a text under `name`, or takes it away.
    fn set(&self, name: &str, text: Option<&str>);
}

thread_local! {
    static ELSEWHERE: RefCell<Option<Rc<dyn Entries>>> = const { RefCell::new(None) };
}

/// From now on settings are kept there and nothing at all in `localStorage`; with `None` in `localStorage` again.
pub fn keep_in(entries: Option<Rc<dyn Entries>>) {
    ELSEWHERE.set(entries);
}

fn elsewhere() -> Option<Rc<dyn Entries>> {
    ELSEWHERE.with(|entries| entries.borrow().clone())
}

fn item(name: &str) -> Option<String> {
    if let Some(entries) = elsewhere() {
        return entries.get(name);
    }
    if is_available() {
        return LocalStorage::raw().get_item(name).ok().flatten();
    }
    None
}

/// Whether it could be done.
fn set_item(name: &str, text: &str) -> Result<(), StoreError> {
    if let Some(entries) = elsewhere() {
        entries.set(name, Some(text));
        return Ok(());
    }
    if !is_available() {
        return Err(StoreError::Unavailable("there is no localStorage".into()));
    }
    // the only thing that fails with a text of ours is its length
    LocalStorage::raw()
        .set_item(name, text)
        .map_err(|_| StoreError::Quota)
}

/// The settings kept under `name`, or the default where there are none or nowhere to keep them.
pub fn load<T: Serialize + DeserializeOwned + Default>(name: &str) -> Loaded<T> {
    let text = item(name);
    let Some(text) = text else {
        return Loaded {
            settings: T::default(),
            dropped: Vec::new(),
        };
    };
    let loaded = salvage(&text);
    if !loaded.dropped.is_empty() {
        // without room for a copy the original stays until the next save
        let _ = set_item(&format!("{name}.old"), &text);
    }
    loaded
}

/// Keeps the settings under `name`.
///
/// [`StoreError::Unavailable`] where there is no `localStorage`, [`StoreError::Quota`] where it is full.
pub fn save<T: Serialize>(name: &str, settings: &T) -> Result<(), StoreError> {
    let text =
        serde_json::to_string(settings).map_err(|error| StoreError::Failed(error.to_string()))?;
    set_item(name, &text)
}

/// Forgets the settings under `name`.
pub fn forget(name: &str) {
    let old = format!("{name}.old");
    if let Some(entries) = elsewhere() {
        entries.set(name, None);
        entries.set(&old, None);
    } else if is_available() {
        LocalStorage::delete(name);
        LocalStorage::delete(old);
    }
}

/// Whether anything may be kept in `localStorage`. Workers and Node have none, a sandboxed frame may not touch it (there
/// gloo-storage would panic), and where settings are kept elsewhere the host wants nothing there.
pub(crate) fn is_available() -> bool {
    elsewhere().is_none()
        && js_sys::global().is_instance_of::<Window>()
        && global("localStorage").is_some()
}

/// As much of `text` as makes sense as `T`, entry by entry.
fn salvage<T: Serialize + DeserializeOwned + Default>(text: &str) -> Loaded<T> {
    if let Ok(settings) = json::read(text) {
        return Loaded {
            settings,
            dropped: Vec::new(),
        };
    }
    let nothing = || Loaded {
        settings: T::default(),
        dropped: vec!["*".into()],
    };
    let Ok(Value::Object(found)) = json::read(text) else {
        return nothing();
    };
    let Ok(Value::Object(mut good)) = json::value_of(&T::default()) else {
        return nothing();
    };
    let whole =
        |entries: &Map<String, Value>| json::read_value::<T>(&Value::Object(entries.clone()));
    let mut dropped = Vec::new();
    for (name, value) in found {
        let before = good.insert(name.clone(), value);
        if whole(&good).is_err() {
            match before {
                Some(before) => good.insert(name.clone(), before),
                None => good.shift_remove(&name),
            };
            dropped.push(name);
        }
    }
    match whole(&good) {
        Ok(settings) => Loaded { settings, dropped },
        Err(_) => nothing(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    struct Settings {
        model: String,
        window: u32,
        theme: Option<String>,
    }

    impl Default for Settings {
        fn default() -> Self {
            Self {
                model: "m".into(),
                window: 8192,
                theme: None,
            }
        }
    }

    /// S5, F 90: a bad entry gets its default, the others are kept, and what was dropped is named.
    #[test]
    fn settings_survive_damage_entry_by_entry() {
        let check = |text: &str, model: &str, window: u32, dropped: &[&str]| {
            let loaded = salvage::<Settings>(text);
            let expected = Settings {
                model: model.into(),
                window,
                theme: None,
            };
            assert_eq!(
                loaded,
                Loaded {
                    settings: expected,
                    dropped: dropped.iter().map(ToString::to_string).collect()
                }
            );
        };
        check(r#"{"model":"a","window":4096}"#, "a", 4096, &[]);
        check(r#"{"model":"a"}"#, "a", 8192, &[]);
        check(r#"{"model":"a","window":"wide"}"#, "a", 8192, &["window"]);
        check(
            r#"{"window":-1,"model":7,"theme":[]}"#,
            "m",
            8192,
            &["window", "model", "theme"],
        );
        check(r#"{"window":100,"unknown":{"a":1}}"#, "m", 100, &[]);
        check(r#"{"model":"a","wind"#, "m", 8192, &["*"]);
        check("[1]", "m", 8192, &["*"]);
        check("", "m", 8192, &["*"]);
    }
}
