//! Romanian.

use super::tables::{Tables};

pub(super) const TABLES: Tables = Tables {
    letters: &[("șț", 0.3)],
    small_words: "și în de la nu cu este pe un o să care că din mai ce sunt a fi ca pentru dar sau am ai are eu tu el ea \
             noi voi acest această foarte când unde doar niciodată întotdeauna trebuie poate fără după până dacă mi \
             se le lui al ale cum",
    ..Tables::NONE
};
