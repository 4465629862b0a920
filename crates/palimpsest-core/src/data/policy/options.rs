//! What passes are told beside their name.

use serde::{Deserialize, Serialize};

/// What counts as a repetition. Names are patterns ([`palimpsest_text::glob`]), compared in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct DedupeOptions {
    /// Texts of fewer bytes stay.
    pub floor: usize,
    /// Tools that return a file.
    pub reads: String,
    /// Tools that replace a file.
    pub writes: String,
    /// Tools that change a part of a file.
    pub edits: String,
    /// Arguments that name the file, the first that is there.
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
