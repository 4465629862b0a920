//! Finds later statements that change an earlier one: another time, price, place or reference of the same thing.
//!
//! A statement changes an earlier one under three conditions: it announces a change ("now", "instead", "moved to"); it
//! gives a value of the same kind that the earlier one does not have; and it speaks of the same thing, because it
//! shares a rare word with it, names the old value, or gives a reference of the same shape. Nothing is removed: the
//! earlier statement is only kept together with the newest one that changes it.

use crate::retention::{Fact, FactClass, Speaker, extract_from};
use crate::words::terms::{each_term, hash, mix};
use crate::words::worth::{announces_a_change, is_content};

/// A value that a unit states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Value {
    class: FactClass,
    /// The value itself.
    text: u64,
    /// The value without its digits, which shows the thing it counts or the form of a reference.
    shape: u64,
}

/// The values of the units of a pool, and the units that announce a change.
#[derive(Debug, Default)]
pub(super) struct Updates {
    /// Pairs of a unit's number and one of its values, in order.
    values: Vec<(u32, Value)>,
    /// Units that announce a change, in order.
    changes: Vec<u32>,
}

/// At most this many elements of a unit are compared.
const MOST_SHARED: usize = 64;

impl Updates {
    /// Notes a fact of unit `unit`.
    pub(super) fn see(&mut self, unit: u32, class: FactClass, text: &str) {
        if matches!(
            class,
            FactClass::Number | FactClass::Date | FactClass::Identifier
        ) {
            self.values.push((unit, Value::of(class, text)));
        }
    }

    /// Notes that unit `unit` announces a change.
    pub(super) fn announce(&mut self, unit: u32) {
        self.changes.push(unit);
    }

    /// Returns `true` if unit `unit` announces a change and gives a value.
    pub(super) fn tells(&self, unit: u32) -> bool {
        self.changes.binary_search(&unit).is_ok() && !self.of(unit).is_empty()
    }

    fn of(&self, unit: u32) -> &[(u32, Value)] {
        let from = self.values.partition_point(|(n, _)| *n < unit);
        let to = self.values.partition_point(|(n, _)| *n <= unit);
        &self.values[from..to]
    }

    /// Returns pairs of a unit and the newest one that changes it, ordered by the former. `rare` returns the elements
    /// of a unit that are rare enough to show its subject.
    pub(super) fn pairs(&self, rare: impl Fn(u32) -> Vec<u32>) -> Vec<(u32, u32)> {
        let links = Links::of(self, &rare);
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        let mut heads: Vec<&[(u64, u32)]> = Vec::new();
        for old in self.values.chunk_by(|a, b| a.0 == b.0) {
            let unit = old[0].0;
            let mut words = None;
            heads.clear();
            for (_, value) in old {
                let words = words.get_or_insert_with(|| rare(unit));
                value.each_link(words, |link| heads.push(links.after(link, unit)));
            }
            // Tries the newest possible change first, then the one before it.
            while let Some(later) = heads.iter().filter_map(|of| of.last()).map(|l| l.1).max() {
                for of in &mut heads {
                    *of = &of[..of.len() - usize::from(of.last().is_some_and(|l| l.1 == later))];
                }
                let is_same_thing = || {
                    let mut new = rare(later);
                    new.truncate(MOST_SHARED);
                    words.iter().flatten().any(|word| new.contains(word))
                };
                if replaced(old, self.of(later), is_same_thing) {
                    pairs.push((unit, later));
                    break;
                }
            }
        }
        pairs
    }
}

/// The links that units with a change have with others. Without a common link one unit cannot change another, so only
/// linked units have to be compared.
struct Links(Vec<(u64, u32)>);

impl Links {
    fn of(updates: &Updates, rare: &impl Fn(u32) -> Vec<u32>) -> Self {
        let mut links = Vec::new();
        for &unit in &updates.changes {
            let values = updates.of(unit);
            if values.is_empty() {
                continue;
            }
            let mut words = rare(unit);
            words.truncate(MOST_SHARED);
            for (_, value) in values {
                value.each_link(&words, |link| links.push((link, unit)));
            }
        }
        links.sort_unstable();
        links.dedup();
        Self(links)
    }

    /// Returns the units after `unit` with this link, in order.
    fn after(&self, link: u64, unit: u32) -> &[(u64, u32)] {
        let from = self.0.partition_point(|l| *l <= (link, unit));
        let rest = &self.0[from..];
        &rest[..rest.partition_point(|l| l.0 == link)]
    }
}

/// Returns the sentences of `facts` that change a line of `standing` and are not in `standing` themselves: for each
/// line the newest, in order. `facts` are in the order of the conversation.
pub fn changes<'a>(standing: &str, facts: &'a [Fact]) -> Vec<&'a str> {
    let mut sentences: Vec<&str> = Vec::new();
    let mut updates = Updates::default();
    let mut words: Vec<Vec<u64>> = Vec::new();
    for line in standing.lines() {
        let unit = words.len() as u32;
        for fact in extract_from(line, Speaker::Assistant) {
            updates.see(unit, fact.class, &fact.text);
        }
        words.push(content(line));
    }
    let before = words.len();
    for fact in facts {
        let sentence = fact.context.as_str();
        let at = sentences.iter().rposition(|known| *known == sentence);
        let unit = match at {
            Some(at) => before + at,
            None if !announces_a_change(sentence) => continue,
            None => {
                sentences.push(sentence);
                words.push(content(sentence));
                updates.announce(words.len() as u32 - 1);
                words.len() - 1
            }
        };
        updates.see(unit as u32, fact.class, &fact.text);
    }
    if sentences.is_empty() {
        return Vec::new();
    }
    crate::order::sort_by_key(&mut updates.values, |(unit, _)| *unit);
    let rare = rare_words(&words);
    let mut found: Vec<u32> = updates
        .pairs(|unit| rare(unit as usize))
        .into_iter()
        .filter(|(earlier, _)| (*earlier as usize) < before)
        .map(|(_, later)| later)
        .collect();
    found.sort_unstable();
    found.dedup();
    let sentences = found
        .into_iter()
        .map(|unit| sentences[unit as usize - before]);
    sentences.filter(|s| !standing.contains(s)).collect()
}

/// Returns pairs of facts, as indices, of which the later one's sentence changes a value of the earlier one's: for each
/// earlier sentence the newest change. `facts` are in the order of the conversation.
pub fn replacements(facts: &[&Fact]) -> Vec<(usize, usize)> {
    let mut updates = Updates::default();
    let mut words: Vec<Vec<u64>> = Vec::new();
    // The first fact of each sentence.
    let mut first: Vec<usize> = Vec::new();
    for (n, fact) in facts.iter().enumerate() {
        let is_known = first
            .last()
            .is_some_and(|last| facts[*last].context == fact.context);
        if !is_known {
            if announces_a_change(&fact.context) {
                updates.announce(first.len() as u32);
            }
            first.push(n);
            words.push(content(&fact.context));
        }
        updates.see(first.len() as u32 - 1, fact.class, &fact.text);
    }
    let rare = rare_words(&words);
    let pairs = updates.pairs(|unit| rare(unit as usize));
    // The value that only the later sentence has.
    let of = |unit: u32| {
        let from = first[unit as usize];
        let to = first.get(unit as usize + 1).copied();
        from..to.unwrap_or(facts.len())
    };
    pairs
        .into_iter()
        .map(|(old, new)| {
            let known = |n: &usize| of(old).any(|o| facts[o].text == facts[*n].text);
            let is_value = |n: &usize| !facts[*n].class.sentence();
            let value = of(new).find(|n| is_value(n) && !known(n));
            (first[old as usize], value.unwrap_or(first[new as usize]))
        })
        .collect()
}

/// For each list of words, the indices of the words that are rare enough to show its subject.
fn rare_words(words: &[Vec<u64>]) -> impl Fn(usize) -> Vec<u32> {
    // A word in many lines says little about the subject of one.
    let most = (words.len() / 10).max(3);
    let mut spread: Vec<u64> = words.iter().flatten().copied().collect();
    spread.sort_unstable();
    move |unit| {
        let of = |word: &u64| {
            let from = spread.partition_point(|w| w < word);
            let to = spread.partition_point(|w| w <= word);
            (2..=most).contains(&(to - from)).then_some(from as u32)
        };
        words[unit].iter().filter_map(of).collect()
    }
}

/// Returns the words of a line that carry meaning, each once.
fn content(line: &str) -> Vec<u64> {
    let mut words = Vec::new();
    each_term(line, |term| {
        if is_content(&term, &[]) && !words.contains(&term.hash) {
            words.push(term.hash);
        }
    });
    words
}

impl Value {
    fn of(class: FactClass, text: &str) -> Self {
        let mut shape = class as u64;
        let mut in_digits = false;
        for c in text.chars() {
            let digit = c.is_numeric();
            if digit && in_digits || c.is_whitespace() || (in_digits && matches!(c, ',' | '.')) {
                continue;
            }
            in_digits = digit;
            shape = mix(shape ^ if digit { 1 } else { u64::from(u32::from(c)) });
        }
        Self {
            class,
            text: hash(text.as_bytes()),
            shape,
        }
    }

    /// Calls `f` with every link of this value, in a unit with `words`. [`replaced`] is never true of two units without
    /// a common link.
    fn each_link(&self, words: &[u32], mut f: impl FnMut(u64)) {
        f(mix(self.text));
        if self.class == FactClass::Identifier {
            f(mix(self.shape ^ 1));
        }
        let kind = match self.class {
            FactClass::Date => FactClass::Date as u64,
            _ => self.shape,
        };
        for word in words {
            f(mix(mix(kind) ^ u64::from(*word)));
        }
    }
}

/// Returns `true` if `new` has another value for something that `old` has. `is_same_thing` says if anything else
/// connects the two.
fn replaced(old: &[(u32, Value)], new: &[(u32, Value)], is_same_thing: impl Fn() -> bool) -> bool {
    let stated =
        |all: &[(u32, Value)], value: &Value| all.iter().any(|(_, v)| v.text == value.text);
    let mut names_it = false;
    let mut alike = false;
    let mut another = false;
    for (_, value) in old {
        if stated(new, value) {
            names_it = true;
            continue;
        }
        for (_, other) in new {
            if other.class != value.class || stated(old, other) {
                continue;
            }
            let same_shape = other.shape == value.shape;
            alike |= same_shape && value.class == FactClass::Identifier;
            another |= same_shape || value.class == FactClass::Date;
        }
    }
    // The old value stands beside a new one: "not the 12th but the 14th".
    let beside = names_it
        && new.iter().any(|(_, other)| {
            !stated(old, other)
                && old
                    .iter()
                    .any(|(_, v)| v.class == other.class && stated(new, v))
        });
    beside || alike || (another && is_same_thing())
}

#[cfg(test)]
mod tests {
    use palimpsest_tokens::Estimator;
    use proptest::prelude::*;

    use super::*;

    use crate::extractive::{Options, Passage, summarize};

    /// Compares every unit with every later change. [`Updates::pairs`] must find the same.
    fn compared_with_all(updates: &Updates, rare: impl Fn(u32) -> Vec<u32>) -> Vec<(u32, u32)> {
        let units = updates.values.chunk_by(|a, b| a.0 == b.0);
        let newest = |old: &[(u32, Value)]| {
            let unit = old[0].0;
            let is_change = |later: &&u32| {
                let mut words = rare(**later);
                words.truncate(MOST_SHARED);
                let shared = || rare(unit).iter().any(|word| words.contains(word));
                **later > unit && replaced(old, updates.of(**later), shared)
            };
            let later = updates.changes.iter().rev().find(is_change)?;
            Some((unit, *later))
        };
        units.filter_map(newest).collect()
    }

    proptest! {
        /// The links between units miss no change.
        #[test]
        fn links_lead_to_every_change(
            units in proptest::collection::vec((
                proptest::collection::vec((0_usize..3, 0_u32..12), 0..4),
                proptest::collection::vec(0_u32..9, 0..3),
                any::<bool>(),
            ), 0..40),
        ) {
            let mut updates = Updates::default();
            for (unit, (values, _, announces)) in (0..).zip(&units) {
                for (class, n) in values {
                    let (class, text) = [
                        (FactClass::Number, format!("{n} euros")),
                        (FactClass::Date, format!("May {n}")),
                        (FactClass::Identifier, format!("{}-{n}", if n % 2 == 0 { "A" } else { "BC" })),
                    ][*class].clone();
                    updates.see(unit, class, &text);
                }
                if *announces {
                    updates.announce(unit);
                }
            }
            let rare = |unit: u32| units[unit as usize].1.clone();
            prop_assert_eq!(updates.pairs(rare), compared_with_all(&updates, rare));
        }
    }

    /// A changed statement is kept with its change, in any room.
    #[test]
    fn what_is_changed_stands_with_its_change() {
        let check = |old: &str, new: &str, value: &str, changed: &str| {
            let filler = [
                "The heron stood in the reeds and the light over the marsh turned slowly to copper.",
                "My aunt repairs clocks, and the workshop smells of oil and brass polish.",
                "A lighthouse keeper once told me that fog has a taste, something like cold iron.",
                "We painted the boat twice, since the first coat blistered in the August heat.",
            ];
            let texts: Vec<&str> = [old]
                .into_iter()
                .chain(filler)
                .chain([new])
                .chain(filler)
                .collect();
            let passages: Vec<Passage<'_>> = (0..)
                .zip(&texts)
                .map(|(n, text)| Passage::new(n, Speaker::User, text))
                .collect();
            let counter = Estimator::default();
            let (mut stood, mut alone) = (0, 0);
            for target_tokens in (12..160).step_by(4) {
                let options = Options {
                    target_tokens,
                    ..Options::default()
                };
                let text = summarize(&passages, &options, &counter).text;
                stood += usize::from(text.contains(value));
                alone += usize::from(text.contains(value) && !text.contains(changed));
            }
            assert_eq!(alone, 0, "{old} → {new}");
            assert!(stood > 0, "{old}: what it says is kept where there is room");
        };
        check(
            "The dinner at Rossi's is on 12 May at 19:30.",
            "We moved the dinner to 14 May.",
            "12 May",
            "14 May",
        );
        check(
            "The budget for the kitchen is £2,400 with tiles.",
            "We're raising the kitchen budget to £2,900.",
            "£2,400",
            "£2,900",
        );
        check(
            "Filed under parking: £58, BCC-5512, bay for YK19 VPF.",
            "New ref BCC-5790.",
            "BCC-5512",
            "BCC-5790",
        );
        check(
            "Der Termin beim Zahnarzt ist am 3. März um 9 Uhr.",
            "Der Zahnarzt hat den Termin auf den 5. März verschoben.",
            "3. März",
            "5. März",
        );
        check(
            "El presupuesto de la cocina es de 2.400 €.",
            "Ahora el presupuesto de la cocina es de 2.900 €.",
            "2.400",
            "2.900",
        );
        check(
            "Le train pour Lyon part le 3 mai.",
            "Le train pour Lyon est reporté au 6 mai.",
            "3 mai",
            "6 mai",
        );
        check(
            "Поезд в Казань отходит 3 мая.",
            "Поезд в Казань перенесли на 6 мая.",
            "3 мая",
            "6 мая",
        );
        check(
            "京都への出発は5月3日です。",
            "京都への出発は5月6日に変更になりました。",
            "5月3日",
            "5月6日",
        );
        check(
            "去京都的出发日期是5月3日。",
            "去京都的出发日期改为5月6日。",
            "5月3日",
            "5月6日",
        );
    }

    /// A later sentence changes the value of an earlier one, said as people say it.
    #[test]
    fn a_change_is_recognised_in_every_language() {
        let pairs: &[(&str, &[(&str, &str)])] = &[
            (
                "en",
                &[
                    ("The rent is 900 euros.", "The rent increased to 950 euros."),
                    (
                        "The deadline for the report is 3 May.",
                        "The deadline for the report was extended to 9 May.",
                    ),
                    (
                        "The ferry leaves at 14:30.",
                        "The ferry is delayed, it leaves at 15:10.",
                    ),
                    (
                        "The budget for paint is $400.",
                        "We revised the paint budget: $520.",
                    ),
                    (
                        "The room costs 80 euros.",
                        "They reduced the room to 70 euros.",
                    ),
                ],
            ),
            (
                "de",
                &[
                    (
                        "Die Miete beträgt 900 Euro.",
                        "Die Miete beträgt künftig 950 Euro.",
                    ),
                    (
                        "Die Frist für den Bericht endet am 3. Mai.",
                        "Die Frist für den Bericht wurde bis 9. Mai verlängert.",
                    ),
                    ("Die Fähre fährt um 14:30.", "Die Fähre fährt nun um 15:10."),
                    (
                        "Das Zimmer kostet 80 Euro.",
                        "Das Zimmer wurde auf 70 Euro reduziert.",
                    ),
                    (
                        "Der Workshop ist am 4. Juni.",
                        "Der Workshop wurde auf den 1. Juni vorgezogen.",
                    ),
                    (
                        "Der Server läuft auf Port 8080.",
                        "Der Server läuft inzwischen auf Port 9090.",
                    ),
                    (
                        "Der Kurs kostet 120 Euro.",
                        "Der Preis für den Kurs wurde auf 140 Euro angehoben.",
                    ),
                ],
            ),
            (
                "fr",
                &[
                    (
                        "Le loyer est de 900 euros.",
                        "Le loyer est désormais de 950 euros.",
                    ),
                    (
                        "La réunion est le 3 mai.",
                        "La réunion a été déplacée au 9 mai.",
                    ),
                    (
                        "La réunion est le 3 mai.",
                        "La réunion est reportée au 9 mai.",
                    ),
                    (
                        "Le bateau part à 14h30.",
                        "Le bateau partira finalement à 15h10.",
                    ),
                    (
                        "La chambre coûte 80 euros.",
                        "Le prix de la chambre a baissé à 70 euros.",
                    ),
                    (
                        "L'atelier a lieu le 4 juin.",
                        "La date de l'atelier a été modifiée : 11 juin.",
                    ),
                    (
                        "Le budget peinture est de 400 euros.",
                        "Le budget peinture a été augmenté à 520 euros.",
                    ),
                ],
            ),
            (
                "es",
                &[
                    (
                        "El alquiler cuesta 900 euros.",
                        "El alquiler ha aumentado a 950 euros.",
                    ),
                    (
                        "La reunión es el 3 de mayo.",
                        "La reunión se ha trasladado al 9 de mayo.",
                    ),
                    (
                        "La reunión es el 3 de mayo.",
                        "La reunión se ha retrasado al 9 de mayo.",
                    ),
                    (
                        "El taller es el 4 de junio.",
                        "El taller se ha adelantado al 1 de junio.",
                    ),
                    (
                        "La habitación cuesta 80 euros.",
                        "La habitación se ha rebajado a 70 euros.",
                    ),
                    (
                        "El plazo acaba el 3 de mayo.",
                        "El plazo se ha ampliado hasta el 9 de mayo.",
                    ),
                    (
                        "El presupuesto de pintura es 400 euros.",
                        "Actualización: el presupuesto de pintura es 520 euros.",
                    ),
                ],
            ),
            (
                "ru",
                &[
                    ("Аренда стоит 900 евро.", "Аренду повысили до 950 евро."),
                    ("Встреча 3 мая.", "Встреча перенесена на 9 мая."),
                    ("Срок отчёта 3 мая.", "Срок отчёта продлили до 9 мая."),
                    (
                        "Паром уходит в 14:30.",
                        "Паром задерживается и уходит в 15:10.",
                    ),
                    ("Номер стоит 80 евро.", "Цену на номер снизили до 70 евро."),
                    ("Семинар 4 июня.", "Дату семинара изменили: 11 июня."),
                    (
                        "Бюджет на краску 400 евро.",
                        "Бюджет на краску увеличен до 520 евро.",
                    ),
                ],
            ),
            (
                "ja",
                &[
                    (
                        "家賃は900ユーロです。",
                        "家賃は950ユーロに値上げされました。",
                    ),
                    ("会議は5月3日です。", "会議は5月9日に変更になりました。"),
                    ("会議は5月3日です。", "会議は5月1日に前倒しされました。"),
                    ("船は14:30に出ます。", "船は今後15:10に出ます。"),
                    ("部屋は80ユーロです。", "部屋は70ユーロに下がりました。"),
                    (
                        "締め切りは5月3日です。",
                        "締め切りは5月9日に延長されました。",
                    ),
                    ("予算は400ユーロです。", "予算は520ユーロに増えました。"),
                ],
            ),
            (
                "zh",
                &[
                    ("房租是900欧元。", "房租涨到950欧元了。"),
                    ("会议在5月3日。", "会议改到5月9日。"),
                    ("会议在5月3日。", "会议提前到5月1日。"),
                    ("船14:30出发。", "船延误了，15:10出发。"),
                    ("房间80欧元。", "房间降到70欧元。"),
                    ("截止日期是5月3日。", "截止日期延长到5月9日。"),
                    ("油漆预算是400欧元。", "油漆预算调整为520欧元。"),
                ],
            ),
        ];
        for (language, pairs) in pairs {
            for (old, new) in *pairs {
                let facts = extract_from(new, Speaker::User);
                assert_eq!(changes(old, &facts), [*new], "{language}: {old}");
            }
        }
        // The same words about something else change nothing.
        let facts = extract_from("The rent increased to 950 euros.", Speaker::User);
        assert!(changes("The ferry leaves at 14:30.", &facts).is_empty());
    }
}
