//! Dutch.

use super::tables::{Tables};

pub(super) const TABLES: Tables = Tables {
    small_words: "de het een en van ik je dat is niet in op te zijn met voor die er aan ook als maar om hij bij wat dan \
             naar heeft we uit nog wel door over kan dit deze geen hebben was worden mijn ze moet altijd nooit \
             alleen jij jouw zou mij hoe waar zo iets alles meer graag",
    ..Tables::NONE
};
