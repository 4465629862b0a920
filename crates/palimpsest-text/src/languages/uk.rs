//! Ukrainian.

use super::tables::{Script, Tables};

pub(super) const TABLES: Tables = Tables {
    script: Script::Cyrillic,
    own_letters: "іїєґ",
    small_words: "і в не на я що з він а як це по але вони ми все вона так його за був від то же із у до для ви ти тільки \
             мене би ще вже коли якщо або мені бути немає нас їх ніж була при є треба потрібно дуже теж завжди \
             ніколи де цей ця мій моя було може та й",
    ..Tables::NONE
};
