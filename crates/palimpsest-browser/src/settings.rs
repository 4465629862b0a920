//! Keeps settings in `localStorage`, or where a host wants them.
//!
//! A crash may lose a setting that changed in the last seconds, so nothing important is kept here.

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

/// The settings that were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded<T> {
    /// The settings to work with.
    pub settings: T,
    /// The names of entries that were not readable and now have their default values; `*` if that is all of them. The
    /// old text is kept under the same name with `.old` added.
    pub dropped: Vec<String>,
}

/// A place for texts by name, instead of `localStorage`.
pub trait Entries {
    /// The text under `name`.
    fn get(&self, name: &str) -> Option<String>;
    /// Stores a text under `name`, or removes it for `None`.
    fn set(&self, name: &str, text: Option<&str>);
}

thread_local! {
    static ELSEWHERE: RefCell<Option<Rc<dyn Entries>>> = const { RefCell::new(None) };
}

/// From now on keeps all settings in `entries` and nothing in `localStorage`. `None` returns to `localStorage`.
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

/// Stores a text under `name`.
fn set_item(name: &str, text: &str) -> Result<(), StoreError> {
    if let Some(entries) = elsewhere() {
        entries.set(name, Some(text));
        return Ok(());
    }
    if !is_available() {
        return Err(StoreError::Unavailable("there is no localStorage".into()));
    }
    // A text of ours can only fail by its length.
    LocalStorage::raw()
        .set_item(name, text)
        .map_err(|_| StoreError::Quota)
}

/// Loads the settings under `name`, or the default if there are none or no place for them.
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
        // If there is no room for a copy, the original stays until the next save.
        let _ = set_item(&format!("{name}.old"), &text);
    }
    loaded
}

/// Stores the settings under `name`.
///
/// # Errors
///
/// [`StoreError::Unavailable`] if there is no `localStorage`, [`StoreError::Quota`] if it is full.
pub fn save<T: Serialize>(name: &str, settings: &T) -> Result<(), StoreError> {
    let text =
        serde_json::to_string(settings).map_err(|error| StoreError::Failed(error.to_string()))?;
    set_item(name, &text)
}

/// Deletes the settings under `name`.
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

/// Returns `true` if this code may use `localStorage`. Workers and Node have none, a sandboxed frame must not touch it
/// (gloo-storage would panic there), and a host that keeps the settings itself wants nothing in it.
pub(crate) fn is_available() -> bool {
    elsewhere().is_none()
        && js_sys::global().is_instance_of::<Window>()
        && global("localStorage").is_some()
}

/// Reads as much of `text` as is valid for `T`, entry by entry.
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
    let Ok(Value::Object(found)) = json::parse(text) else {
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

    /// S5, F 90: a bad entry gets its default, the others stay, and the result names the dropped ones.
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
