//! The options of passes.

use serde::{Deserialize, Serialize};

/// The rules for repetitions. Names are patterns ([`palimpsest_text::glob`]), compared in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct DedupeOptions {
    /// Texts with fewer bytes stay.
    pub floor: usize,
    /// Tools that return a file.
    pub reads: String,
    /// Tools that replace a file.
    pub writes: String,
    /// Tools that change a part of a file.
    pub edits: String,
    /// The arguments that may name the file. The first present one counts.
    pub paths: Vec<String>,
}

impl Default for DedupeOptions {
    fn default() -> Self {
        let words = |list: &str| list.split(' ').map(str::to_owned).collect();
        Self {
            floor: 240,
            reads: "{read,cat,open,view,*read_file*,*readfile*,*file_read*,get_file*,open_file*,view_file*}".into(),
            writes: "{write,*write_file*,*writefile*,*file_write*,create_file*,save_file*,put_file*}".into(),
            edits: "{edit,*edit_file*,*file_edit*,*str_replace*,*apply_patch*,multiedit,insert*}".into(),
            paths: words("path file_path filePath file filename fileName target_file uri"),
        }
    }
}

/// The tool output that stays before the mark.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct StripOptions {
    /// The number of messages that stay whole before the mark.
    pub keep: u32,
    /// Keep failed results with their calls.
    pub keep_errors: bool,
    /// The number of results with the most facts that stay.
    pub keep_best: u32,
}

/// The size above which a result is offloaded: more tokens than both of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct OffloadOptions {
    /// Tokens.
    pub tokens: u32,
    /// Share of the window, in percent.
    pub window_percent: u32,
    /// Write references without the head and the tail of the text, as short as they can be for recall.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub brief: bool,
}

impl Default for OffloadOptions {
    fn default() -> Self {
        Self {
            tokens: 512,
            window_percent: 4,
            brief: false,
        }
    }
}

impl OffloadOptions {
    /// The largest result that stays, in tokens.
    pub fn floor(&self, window: u32) -> u32 {
        let share = u64::from(window) * u64::from(self.window_percent) / 100;
        self.tokens.max(share as u32)
    }
}
