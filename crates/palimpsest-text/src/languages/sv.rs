//! Swedish.

use super::tables::{Tables};

pub(super) const TABLES: Tables = Tables {
    letters: &[("å", 0.1)],
    small_words: "och att det som en på är av för med till den har inte om jag ett men var så vi du kan från ska när han \
             hon eller mycket alla mig dig sig min din nu där här vad hur bara också aldrig alltid måste skulle vara \
             blir finns utan efter över än",
    ..Tables::NONE
};
