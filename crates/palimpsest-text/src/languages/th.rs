//! Thai.

use super::tables::{Script, Tables};

pub(super) const TABLES: Tables = Tables {
    script: Script::Own(&[(0xE00, 0xE7F)]),
    ..Tables::NONE
};
