//! The windows that are offered, and the one that is typed.

use palimpsest_core::model::{ModelProfile, WindowAsk, WindowError, resolve_window};

use crate::settings::data::connection::ModelEntry;
use crate::settings::{WINDOWS, window_of};

/// A window that can be chosen. Its tokens are shown, sent as `num_ctx` and divided by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Choice {
    /// Its name: `16K`; empty where it is offered as a plain number.
    pub name: String,
    /// Its size in tokens.
    pub tokens: u32,
}

/// The windows on offer for a model, smallest first: its named sizes, each with the share that is used, then plain
/// numbers. `now` is always among them.
pub fn offered(profile: Option<&ModelProfile>, now: u32) -> (Vec<Choice>, Vec<Choice>) {
    let sizes = profile.map_or(&[][..], |p| p.sizes.as_slice());
    let named: Vec<Choice> = sizes
        .iter()
        .map(|size| Choice {
            name: size.name.clone(),
            tokens: size.ollama_context_size,
        })
        .collect();
    let mut plain = WINDOWS.to_vec();
    if !plain.contains(&now) && !named.iter().any(|c| c.tokens == now) {
        plain.push(now);
        plain.sort_unstable();
    }
    let plain = plain.into_iter().map(|tokens| Choice {
        name: String::new(),
        tokens,
    });
    (named, plain.collect())
}

/// The known windows of a model; an unknown one gets every named size.
pub fn profile(model: &str, models: &[ModelEntry]) -> ModelProfile {
    let known = models.iter().find(|m| m.name == model);
    let size = known.map(|m| m.size.as_str()).filter(|s| !s.is_empty());
    ModelProfile::new(model, size, known.and_then(|m| m.trained))
}

/// The input is not a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoWindow {
    /// Not a number of tokens that a window can have.
    Number,
    /// The model has no size of this name.
    Size {
        /// The input.
        asked: String,
        /// The names it has.
        known: String,
    },
}

/// `text` as a window: the name of a size where there are some, else a number, which is used as given.
pub fn typed(text: &str, profile: Option<&ModelProfile>) -> Result<u32, NoWindow> {
    let name = text.trim();
    if let Some(profile) = profile
        && name.ends_with(['k', 'K'])
    {
        let ask = WindowAsk::Named(name.to_owned());
        return match resolve_window(Some(profile), Some(&ask)) {
            Ok(window) => Ok(window.tokens),
            Err(WindowError::UnknownSize { asked, known }) => Err(NoWindow::Size {
                asked,
                known: known.join(", "),
            }),
            Err(WindowError::InvalidLimit { .. }) => Err(NoWindow::Number),
        };
    }
    window_of(name).ok_or(NoWindow::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(trained: Option<u32>) -> ModelEntry {
        ModelEntry {
            name: "llama3.2:3b".into(),
            size: "3.2B".into(),
            quantisation: String::new(),
            trained,
            loaded: None,
            bytes: None,
            untold: false,
            capabilities: Vec::new(),
        }
    }

    /// B1: the named sizes of a model are offered with their share for Ollama, up to its limit, and the present window
    /// is offered exactly once.
    #[test]
    fn named_sizes_are_offered() {
        let profile = profile("llama3.2:3b", &[entry(Some(20_000))]);
        let shown = |now| {
            let (named, plain) = offered(Some(&profile), now);
            let named = named
                .into_iter()
                .map(|c| format!("{} {}", c.name, c.tokens));
            let plain = plain.into_iter().map(|c| c.tokens.to_string());
            (
                named.collect::<Vec<_>>().join(", "),
                plain.collect::<Vec<_>>().join(", "),
            )
        };
        let plain = "2048, 4096, 8192, 16384, 32768, 65536, 131072";
        assert_eq!(
            shown(13_600),
            ("4K 3400, 8K 6800, 16K 13600".into(), plain.into())
        );
        assert_eq!(
            shown(6_000).1,
            "2048, 4096, 6000, 8192, 16384, 32768, 65536, 131072"
        );
        assert_eq!(offered(None, 8192).0, []);
        assert_eq!(offered(Some(&super::profile("mine", &[])), 8192).0.len(), 7);
    }

    /// B1: a name is a size of the model, a number is used as given, and an unknown size is an error that names the
    /// known ones.
    #[test]
    fn what_is_typed() {
        let profile = profile("llama3.2:3b", &[entry(Some(20_000))]);
        let check = |text, expected| assert_eq!(typed(text, Some(&profile)), expected, "{text}");
        check(" 16k ", Ok(13_600));
        check("16,000", Ok(16_000));
        check("16384", Ok(16_384));
        check("many", Err(NoWindow::Number));
        check(
            "64K",
            Err(NoWindow::Size {
                asked: "64K".into(),
                known: "4K, 8K, 16K".into(),
            }),
        );
        assert_eq!(typed("16k", None), Ok(16_384));
    }
}
