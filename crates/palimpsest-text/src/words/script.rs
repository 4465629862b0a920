//! Properties of the writing systems: the ends of words and sentences.

/// Scripts written without spaces between words: Han, kana, Thai, Lao, Khmer, Burmese.
pub fn unspaced(c: char) -> bool {
    let u = c as u32;
    if u < 0x0E00 {
        return false;
    }
    matches!(u,
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3005..=0x3007 | 0x3040..=0x30FF | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F | 0x2_0000..=0x3_FFFF)
}

/// Japanese kana.
pub fn kana(c: char) -> bool {
    matches!(c as u32, 0x3041..=0x309F | 0x30A1..=0x30FA | 0x31F0..=0x31FF | 0xFF66..=0xFF9D)
}

/// Thai and its neighbours, which end a sentence with a space, if at all.
pub fn phrase_spaced(c: char) -> bool {
    matches!(c as u32, 0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF)
}

/// Ends a sentence before any character.
pub fn full_stop(c: char) -> bool {
    matches!(
        c,
        '。' | '！' | '？' | '｡' | '।' | '॥' | '۔' | '؟' | '።' | '។' | '။' | '։'
    )
}

/// Ends a sentence before a space, a closing mark or the end of the text.
pub fn soft_stop(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…' | '‼' | '⁇' | '⁉')
}

/// Closing marks that belong to the sentence before them.
pub fn closer(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | '”'
            | '’'
            | '»'
            | '›'
            | ')'
            | ']'
            | '}'
            | '」'
            | '』'
            | '）'
            | '】'
            | '》'
            | '〉'
            | '*'
            | '_'
            | '`'
    )
}

/// Combining marks that a search ignores.
pub fn combining(c: char) -> bool {
    matches!(c as u32, 0x0300..=0x036F | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x20D0..=0x20FF | 0xFE20..=0xFE2F)
}

/// The plain letters of a Latin letter with marks, lower case; other characters lower-cased.
pub fn fold(c: char, out: &mut String) {
    if c.is_ascii() {
        out.push(c.to_ascii_lowercase());
        return;
    }
    if combining(c) {
        return;
    }
    let u = c as u32;
    if (0xC0..0x250).contains(&u) {
        let plain = match u {
            0xC0..=0xC5 | 0xE0..=0xE5 | 0x100..=0x105 | 0x1CD | 0x1CE => "a",
            0xC6 | 0xE6 => "ae",
            0xC7 | 0xE7 | 0x106..=0x10D => "c",
            0xC8..=0xCB | 0xE8..=0xEB | 0x112..=0x11B => "e",
            0xCC..=0xCF | 0xEC..=0xEF | 0x128..=0x131 => "i",
            0xD0 | 0xF0 | 0x10E..=0x111 => "d",
            0xD1 | 0xF1 | 0x143..=0x148 => "n",
            0xD2..=0xD6 | 0xD8 | 0xF2..=0xF6 | 0xF8 | 0x14C..=0x151 => "o",
            0x152 | 0x153 => "oe",
            0xD9..=0xDC | 0xF9..=0xFC | 0x168..=0x173 | 0x1AF | 0x1B0 => "u",
            0xDD | 0xFD | 0xFF | 0x176..=0x178 => "y",
            0xDF => "ss",
            0x11C..=0x123 => "g",
            0x134 | 0x135 => "j",
            0x136 | 0x137 => "k",
            0x139..=0x142 => "l",
            0x154..=0x159 => "r",
            0x15A..=0x161 | 0x218 | 0x219 => "s",
            0x162..=0x167 | 0x21A | 0x21B => "t",
            0x174 | 0x175 => "w",
            0x179..=0x17E => "z",
            _ => "",
        };
        if !plain.is_empty() {
            out.push_str(plain);
            return;
        }
    }
    // Full-width forms are the same letters.
    if (0xFF01..=0xFF5E).contains(&u) {
        if let Some(a) = char::from_u32(u - 0xFEE0) {
            out.push(a.to_ascii_lowercase());
        }
        return;
    }
    if c == 'ё' || c == 'Ё' {
        out.push('е');
        return;
    }
    out.extend(c.to_lowercase());
}
