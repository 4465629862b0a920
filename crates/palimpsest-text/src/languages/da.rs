//! Danish.

use super::tables::{Tables};

pub(super) const TABLES: Tables = Tables {
    letters: &[("øæ", 0.3)],
    small_words: "og at det som en på er af for med til den har ikke om jeg et men var så vi du kan fra skal når han hun \
             eller meget alle mig dig sig min din nu der her hvad hvor kun også aldrig altid må skulle være bliver \
             uden efter over end blev havde",
    ..Tables::NONE
};
