//! Polish.

use super::tables::{Tables};

pub(super) const TABLES: Tables = Tables {
    letters: &[("łąęśż", 0.3)],
    small_words: "i w na z do nie się to że jest jak o po co ale od za dla przez tak czy tylko są był być może już przy \
             jeszcze ma mam ten ta te tego który które mnie mi ty ja my on ona proszę zawsze nigdy bardzo kiedy \
             gdzie wszystko będzie bez też jego więc pod nad",
    ..Tables::NONE
};
