//! Czech.

use super::tables::{Tables};

pub(super) const TABLES: Tables = Tables {
    letters: &[("řěů", 0.3)],
    small_words: "a se na je že to v s z do jsem by jako ale co si jak nebo tak už pro jen když aby byl být bude jsou \
             které který my ty mi mě není také ještě jeho po od za při vždy nikdy prosím kde všechno tady můj",
    ..Tables::NONE
};
