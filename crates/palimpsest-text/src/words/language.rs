//! Which language a text is in: by script, then by its smallest words.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::Plain;
use super::script::{fold, kana};
use super::terms::hash;

/// A language we can tell. Constraints are read in the first seven only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // the names are the documentation
pub enum Language {
    English,
    Chinese,
    German,
    Spanish,
    French,
    Japanese,
    Russian,
    Portuguese,
    Italian,
    Dutch,
    Polish,
    Swedish,
    Danish,
    Czech,
    Romanian,
    Turkish,
    Indonesian,
    Vietnamese,
    Ukrainian,
    Korean,
    Arabic,
    Persian,
    Hebrew,
    Hindi,
    Thai,
    Greek,
}

impl Language {
    /// The ISO 639-1 code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
            Self::German => "de",
            Self::Spanish => "es",
            Self::French => "fr",
            Self::Japanese => "ja",
            Self::Russian => "ru",
            Self::Portuguese => "pt",
            Self::Italian => "it",
            Self::Dutch => "nl",
            Self::Polish => "pl",
            Self::Swedish => "sv",
            Self::Danish => "da",
            Self::Czech => "cs",
            Self::Romanian => "ro",
            Self::Turkish => "tr",
            Self::Indonesian => "id",
            Self::Vietnamese => "vi",
            Self::Ukrainian => "uk",
            Self::Korean => "ko",
            Self::Arabic => "ar",
            Self::Persian => "fa",
            Self::Hebrew => "he",
            Self::Hindi => "hi",
            Self::Thai => "th",
            Self::Greek => "el",
        }
    }
}

/// The smallest, commonest words, folded. A word may stand for several languages: then it counts for each.
const SMALL: [(Language, &str); 17] = [
    (
        Language::English,
        "the and of to in is that it you for was on are with as this be have not at but they from we an by or what all can has will would my me your do if so about when which there their been more our no just don't i'm it's i am please use never always must should could did does had he she his her him them us who how why where than then some any only into out up now also very like these those its were after before until while during since without within between against per each every many few much such own same other another again still once away back around because let's i'll i've that's",
    ),
    (
        Language::German,
        "der die und das ist nicht ich sie ein eine zu den mit von auf es im dem für sich auch als wir aber wie noch nach bei aus wenn nur werden bitte kann hat haben sind war wird oder einen einem einer mir mich dich du ihr uns dass keine kein immer dann schon sehr mehr über durch unter zum zur vom am bis habe meine dein sein doch hier was so man muss soll darf alle diese jetzt",
    ),
    (
        Language::Spanish,
        "el la de que y los las un una en por con para es no se lo del al como pero sus le ya o este sí porque esta entre cuando muy sin sobre también me hasta hay donde quien desde todo nos uno ni ese eso mi tu más qué está son fue ser tiene siempre nunca puede hacer favor usa ahora estoy tengo yo cada antes solo",
    ),
    (
        Language::French,
        "le la les de des du un une et est en que qui dans pour pas ne sur au aux avec ce il elle je tu nous vous on plus par mais ou son sa ses être fait comme tout cette ces mon ma mes c'est sont avoir été était leur moi si très bien même aussi sans toujours jamais peut faire dois dit cela ça votre vos notre donc où jusqu'à est-ce ici n'est d'un d'une j'ai qu'il",
    ),
    (
        Language::Portuguese,
        "o a os as de que e do da em um uma para com não é no na se por mais dos das como mas foi ao ele ela tem seu sua ou ser quando muito nos já está eu também só pelo pela até isso são você meu minha nunca sempre fazer obrigado então depois sem aos isto estou uso têm vou",
    ),
    (
        Language::Italian,
        "il lo la i gli le di che e è un una in per con non si da del della dei sono come ma anche ho mi ti ci questo questa alla nel nella più o se su al dal hai ha essere fare molto quando perché cosa sempre mai solo dove tutto tutti lui lei noi voi loro mio tuo grazie sul delle ogni già",
    ),
    (
        Language::Dutch,
        "de het een en van ik je dat is niet in op te zijn met voor die er aan ook als maar om hij bij wat dan naar heeft we uit nog wel door over kan dit deze geen hebben was worden mijn ze moet altijd nooit alleen jij jouw zou mij hoe waar zo iets alles meer graag",
    ),
    (
        Language::Polish,
        "i w na z do nie się to że jest jak o po co ale od za dla przez tak czy tylko są był być może już przy jeszcze ma mam ten ta te tego który które mnie mi ty ja my on ona proszę zawsze nigdy bardzo kiedy gdzie wszystko będzie bez też jego więc pod nad",
    ),
    (
        Language::Swedish,
        "och att det som en på är av för med till den har inte om jag ett men var så vi du kan från ska när han hon eller mycket alla mig dig sig min din nu där här vad hur bara också aldrig alltid måste skulle vara blir finns utan efter över än",
    ),
    (
        Language::Danish,
        "og at det som en på er af for med til den har ikke om jeg et men var så vi du kan fra skal når han hun eller meget alle mig dig sig min din nu der her hvad hvor kun også aldrig altid må skulle være bliver uden efter over end blev havde",
    ),
    (
        Language::Czech,
        "a se na je že to v s z do jsem by jako ale co si jak nebo tak už pro jen když aby byl být bude jsou které který my ty mi mě není také ještě jeho po od za při vždy nikdy prosím kde všechno tady můj",
    ),
    (
        Language::Romanian,
        "și în de la nu cu este pe un o să care că din mai ce sunt a fi ca pentru dar sau am ai are eu tu el ea noi voi acest această foarte când unde doar niciodată întotdeauna trebuie poate fără după până dacă mi se le lui al ale cum",
    ),
    (
        Language::Turkish,
        "ve bir bu da de için ile ne çok daha ben sen o biz siz gibi ama kadar var yok mi mı olarak sonra değil her hiç asla sadece lütfen şey ki en olan bana sana onun nasıl neden zaman şimdi önce evet hayır ya",
    ),
    (
        Language::Indonesian,
        "yang dan di ini itu dengan untuk tidak dari dalam akan pada juga saya kamu anda ke karena ada bisa oleh sudah atau seperti kami kita mereka hanya jangan selalu lebih harus apa bagaimana tolong kalau jika telah adalah belum lagi saja",
    ),
    (
        Language::Vietnamese,
        "và của là có không được cho một những với các này trong đã để khi như người tôi bạn thì cũng rất nhiều nhưng từ sẽ ra đến phải nếu vì hãy luôn làm gì về đó chỉ đừng hơn còn",
    ),
    (
        Language::Russian,
        "и в не на я что с он а как это по но они мы все она так его за был от то же из у к для вы ты только меня бы еще уже когда если или мне быть нет до нас их чем была при есть надо нужно пожалуйста очень тоже всегда никогда где этот эта мой моя было может",
    ),
    (
        Language::Ukrainian,
        "і в не на я що з він а як це по але вони ми все вона так його за був від то же із у до для ви ти тільки мене би ще вже коли якщо або мені бути немає нас їх ніж була при є треба потрібно дуже теж завжди ніколи де цей ця мій моя було може та й",
    ),
];

const COUNTED: usize = 26;

struct SmallWords {
    /// Bit per language.
    table: HashMap<u64, u32, Plain>,
}

static WORDS: LazyLock<SmallWords> = LazyLock::new(|| {
    let mut table: HashMap<u64, u32, Plain> = HashMap::default();
    let mut folded = String::new();
    for (language, words) in SMALL {
        for word in words.split(' ') {
            folded.clear();
            for c in word.chars() {
                fold(c, &mut folded);
            }
            *table.entry(hash(folded.as_bytes())).or_insert(0) |= 1 << language as u32;
        }
    }
    SmallWords { table }
});

/// The languages (bits) in which the folded word with this hash is one of the smallest.
pub fn small_word(word_hash: u64) -> u32 {
    WORDS.table.get(&word_hash).copied().unwrap_or(0)
}

/// Evidence for each language, in the order of the enum.
#[derive(Debug, Clone)]
pub(crate) struct Evidence {
    votes: [f32; COUNTED],
    /// Letters that were looked at, with those of unspaced scripts counted double.
    pub letters: u32,
    /// Words of alphabetic scripts that were looked at.
    pub words: u32,
}

const ALL: [Language; COUNTED] = [
    Language::English,
    Language::Chinese,
    Language::German,
    Language::Spanish,
    Language::French,
    Language::Japanese,
    Language::Russian,
    Language::Portuguese,
    Language::Italian,
    Language::Dutch,
    Language::Polish,
    Language::Swedish,
    Language::Danish,
    Language::Czech,
    Language::Romanian,
    Language::Turkish,
    Language::Indonesian,
    Language::Vietnamese,
    Language::Ukrainian,
    Language::Korean,
    Language::Arabic,
    Language::Persian,
    Language::Hebrew,
    Language::Hindi,
    Language::Thai,
    Language::Greek,
];

/// Adds one vote, shared among the languages of `bits`.
fn vote(votes: &mut [f32; COUNTED], mut bits: u32) {
    let weight = 1.0 / bits.count_ones().max(1) as f32;
    while bits != 0 {
        votes[bits.trailing_zeros() as usize] += weight;
        bits &= bits - 1;
    }
}

impl Evidence {
    /// Reads `text`: scripts by their letters, Latin and Cyrillic by small words. Fenced code and machine
    /// text must be left out by the caller.
    pub(crate) fn of(text: &str) -> Self {
        let mut votes = [0f32; COUNTED];
        let (mut han, mut kanas, mut letters, mut words) = (0u32, 0u32, 0u32, 0u32);
        let mut word = String::with_capacity(24);
        let mut cyrillic = 0u32;
        let mut ukrainian = 0u32;
        let add =
            |word: &mut String, words: &mut u32, cyrillic: bool, votes: &mut [f32; COUNTED]| {
                if word.is_empty() {
                    return;
                }
                *words += 1;
                let mut bits = small_word(hash(word.as_bytes()));
                if cyrillic {
                    bits &= (1 << Language::Russian as u32) | (1 << Language::Ukrainian as u32);
                }
                vote(votes, bits);
                word.clear();
            };
        let mut word_is_cyrillic = false;
        for c in text.chars() {
            if c.is_ascii_alphabetic() {
                word.push(c.to_ascii_lowercase());
                letters += 1;
                continue;
            }
            if matches!(c, '\'' | '’') && !word.is_empty() {
                word.push('\'');
                continue;
            }
            let u = c as u32;
            if (0xC0..0x530).contains(&u) && c.is_alphabetic() {
                letters += 1;
                if u >= 0x400 {
                    cyrillic += 1;
                    word_is_cyrillic = true;
                    ukrainian +=
                        u32::from(matches!(c, 'і' | 'ї' | 'є' | 'ґ' | 'І' | 'Ї' | 'Є' | 'Ґ'));
                }
                fold(c, &mut word);
                match c {
                    'ä' | 'ö' | 'ü' | 'ß' => votes[Language::German as usize] += 0.15,
                    'ñ' | '¿' => votes[Language::Spanish as usize] += 0.4,
                    'ã' | 'õ' => votes[Language::Portuguese as usize] += 0.4,
                    'ł' | 'ą' | 'ę' | 'ś' | 'ż' => votes[Language::Polish as usize] += 0.3,
                    'ř' | 'ě' | 'ů' => votes[Language::Czech as usize] += 0.3,
                    'ș' | 'ț' => votes[Language::Romanian as usize] += 0.3,
                    'ğ' | 'ı' | 'ş' => votes[Language::Turkish as usize] += 0.3,
                    'å' => votes[Language::Swedish as usize] += 0.1,
                    'ø' | 'æ' => votes[Language::Danish as usize] += 0.3,
                    'ê' | 'è' | 'œ' | 'ù' => votes[Language::French as usize] += 0.15,
                    'đ' | 'ơ' | 'ư' => votes[Language::Vietnamese as usize] += 0.3,
                    _ => {}
                }
                continue;
            }
            while word.ends_with('\'') {
                word.pop();
            }
            add(&mut word, &mut words, word_is_cyrillic, &mut votes);
            word_is_cyrillic = false;
            if u < 0x370 || !c.is_alphabetic() {
                if c == '¿' || c == '¡' {
                    votes[Language::Spanish as usize] += 1.0;
                }
                continue;
            }
            letters += 1;
            let by_script = match u {
                0x370..=0x3FF => Some(Language::Greek),
                0x590..=0x5FF => Some(Language::Hebrew),
                0x600..=0x6FF => Some(if matches!(c, 'پ' | 'چ' | 'ژ' | 'گ' | 'ک' | 'ی') {
                    Language::Persian
                } else {
                    Language::Arabic
                }),
                0x900..=0x97F => Some(Language::Hindi),
                0xE00..=0xE7F => Some(Language::Thai),
                0x1100..=0x11FF | 0xAC00..=0xD7AF => Some(Language::Korean),
                _ => None,
            };
            if let Some(language) = by_script {
                let weight = if language == Language::Persian {
                    2.0
                } else {
                    0.25
                };
                votes[language as usize] += weight;
            } else if kana(c) {
                kanas += 1;
                letters += 1;
            } else if super::script::unspaced(c) {
                han += 1;
                letters += 1;
            }
        }
        while word.ends_with('\'') {
            word.pop();
        }
        add(&mut word, &mut words, word_is_cyrillic, &mut votes);
        // A Japanese text is a third kana at least; a Chinese one has none to speak of.
        let target = if kanas * 8 >= han.max(1) && kanas > 0 {
            Language::Japanese
        } else {
            Language::Chinese
        };
        votes[target as usize] += (han + kanas) as f32 * 0.5;
        if cyrillic > 0 {
            let target = if ukrainian * 25 >= cyrillic {
                Language::Ukrainian
            } else {
                Language::Russian
            };
            votes[target as usize] += cyrillic as f32 * 0.15;
        }
        Self {
            votes,
            letters,
            words,
        }
    }

    /// Reads words that are folded and hashed already.
    pub(crate) fn of_words(hashes: impl Iterator<Item = u64>) -> Self {
        let mut votes = [0f32; COUNTED];
        let mut words = 0;
        for h in hashes {
            words += 1;
            vote(&mut votes, small_word(h));
        }
        Self {
            votes,
            letters: words * 4,
            words,
        }
    }

    /// The strongest language, if it is clearly ahead.
    pub(crate) fn best(&self) -> Option<Language> {
        let mut best = (0usize, 0f32);
        let mut second = 0f32;
        for (i, &v) in self.votes.iter().enumerate() {
            if v > best.1 {
                second = best.1;
                best = (i, v);
            } else if v > second {
                second = v;
            }
        }
        let floor = if self.words < 6 {
            0.9
        } else {
            (self.words as f32 * 0.06).max(1.0)
        };
        (best.1 >= floor && best.1 >= second * 1.25 && self.letters >= 2).then(|| ALL[best.0])
    }

    /// As [`Self::best`], but one shared small word is not enough.
    pub(crate) fn sure(&self) -> Option<Language> {
        self.best().filter(|l| self.votes[*l as usize] >= 1.6)
    }

    /// The share of the votes that speak for `language`, 0 to 1.
    pub(crate) fn share(&self, language: Language) -> f32 {
        let sum: f32 = self.votes.iter().sum();
        if sum <= 0.0 {
            0.0
        } else {
            self.votes[language as usize] / sum
        }
    }
}

/// The language of `text`, or `None` when it is too short, mixed, or not one we know. Fenced code does not count.
pub fn detect_language(text: &str) -> Option<Language> {
    Evidence::of(&without_code(text)).best()
}

/// `text` without fenced code blocks and machine lines.
pub(crate) fn without_code(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(64 * 1024));
    let mut fenced = false;
    for line in text.lines() {
        let body = line.trim();
        if body.starts_with("```") || body.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        if fenced || super::segment::machine_line(body) {
            continue;
        }
        out.push_str(line);
        out.push('\n');
        // Enough to be sure; a long history must not cost more.
        if out.len() > 48 * 1024 {
            break;
        }
    }
    out
}
