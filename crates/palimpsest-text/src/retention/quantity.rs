//! The words that make a number a quantity or a date: units, months, weekdays, numbers in words.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::languages::Language;
use crate::words::Plain;
use crate::words::terms::fold_hash;

/// A unit of measure or a counter.
pub(crate) const UNIT: u8 = 1;
/// The name of a month.
pub(crate) const MONTH: u8 = 2;
/// The full name of a weekday.
pub(crate) const WEEKDAY: u8 = 4;
/// A number in words.
pub(crate) const COUNT: u8 = 8;
/// A word that joins a number with the next word: between a day and its month, or after the hour. The caller decides by
/// the spelling.
pub(crate) const JOINS: u8 = 16;

/// Units with the same spelling in every language.
const INTERNATIONAL: &str = "a b bar bit bits bps byte bytes c chf cm db e em eur f fps ft g gb gbp ghz gib h ha hp hz in jpy k \
    kb kbit kbps kcal kg khz kib km kmh kw kwh l lb lbs m m2 ma mb mbit mbps mcg mg mhz mi mib min ml \
    mm mo mph ms mw nm ns oz ppm pt px qps rem rpm rps rub s sqm std t tb tib ug us usd v vh vw w x";

static LISTED: LazyLock<HashMap<u64, u8, Plain>> = LazyLock::new(|| {
    let mut table: HashMap<u64, u8, Plain> = HashMap::default();
    let mut folded = String::new();
    let mut list = |flag: u8, words: &str| {
        for word in words.split(' ').filter(|word| !word.is_empty()) {
            *table.entry(fold_hash(word, &mut folded)).or_insert(0) |= flag;
        }
    };
    list(UNIT, INTERNATIONAL);
    for language in Language::ALL {
        let quantities = language.tables().quantities;
        list(UNIT, quantities.units);
        list(MONTH, quantities.months);
        list(WEEKDAY, quantities.weekdays);
        list(COUNT, quantities.counts);
        list(JOINS, quantities.of);
        list(JOINS, quantities.hours);
    }
    table
});

/// Returns the lists that contain `word`, as bits. `scratch` is overwritten.
pub(crate) fn listed(word: &str, scratch: &mut String) -> u8 {
    if word.len() > 26 {
        return 0;
    }
    LISTED.get(&fold_hash(word, scratch)).copied().unwrap_or(0)
}
