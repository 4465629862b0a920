//! Korean.

use super::tables::{Script, Tables};

pub(super) const TABLES: Tables = Tables {
    script: Script::Own(&[(0x1100, 0x11FF), (0xAC00, 0xD7AF)]),
    ..Tables::NONE
};
