//! Reads sentences in scripts without spaces, with characters in place of words.

use super::{Hit, Reader, VERB};
use crate::standing::features::{Flag, Seen};
use crate::standing::table::Set;
use crate::standing::table::{Phrases, letter, next, set};
use crate::words::Language;
use crate::words::script::fold;

impl Reader {
    /// Reads characters in place of words. The number of words is an estimate.
    pub(super) fn read_wide(
        &mut self,
        text: &str,
        (start, end): (usize, usize),
        language: Language,
        table: &Phrases,
        seen: &mut Seen,
    ) -> usize {
        let mut letters: Vec<char> = Vec::with_capacity(end - start);
        let mut folded = String::new();
        for (at, c) in text[start..end].char_indices() {
            let at = at + start;
            let quoted = self.quoted.iter().any(|q| q.0 <= at && at < q.1);
            folded.clear();
            fold(c, &mut folded);
            letters.push(if quoted {
                '\0'
            } else {
                folded.chars().next().unwrap_or(c)
            });
        }
        for from in 0..letters.len() {
            let mut phrase = 0;
            for (i, c) in letters[from..].iter().take(table.longest()).enumerate() {
                phrase = next(phrase, letter(*c));
                let Some(set) = table.get(phrase) else {
                    break;
                };
                if set != 0 {
                    self.hits.push(Hit {
                        set,
                        from,
                        to: from + i + 1,
                        opens: false,
                    });
                }
            }
        }
        let mark = |c: char| c.is_whitespace() || ",，;；:：、。！!".contains(c);
        let mut opens = vec![false; letters.len() + 1];
        opens[0] = true;
        for (i, c) in letters.iter().enumerate() {
            opens[i + 1] |= mark(*c);
        }
        for hit in &self.hits {
            // Hits come in the order of their places.
            if hit.set & set!(Filler | Polite) != 0 && opens[hit.from] {
                opens[hit.to] = true;
            }
        }
        let body = letters
            .iter()
            .rposition(|c| !c.is_whitespace() && !"。！!？?".contains(*c))
            .map_or(0, |at| at + 1);
        for hit in &mut self.hits {
            hit.opens = opens[hit.from];
            if language.tables().standing.is_verb_last && hit.set & VERB != 0 {
                let then = letters.get(hit.to).copied().unwrap_or(' ');
                let verb = hit.to + 8 >= body || matches!(then, '、' | '，' | '。' | 'て');
                hit.opens = verb;
            }
        }
        let opening = |set: Set| self.hits.iter().any(|h| h.opens && h.set & set != 0);
        let any = |set: Set| self.hits.iter().any(|h| h.set & set != 0);
        let (manner, task) = (opening(set!(Manner)), opening(set!(Task)));
        let denied = any(set!(Dont));
        seen.on_if(Flag::Manner, manner);
        seen.on_if(Flag::Task, task);
        seen.on_if(Flag::TaskOnly, task && !manner);
        seen.on_if(Flag::MannerOnly, manner && !task);
        seen.on_if(Flag::Denied, denied);
        seen.on_if(Flag::DeniedVerb, denied && any(set!(Action)));
        seen.on_if(Flag::Create, any(set!(Create)));
        seen.on_if(Flag::Definite, any(set!(Definite)));
        seen.on_if(Flag::Indefinite, any(set!(Indefinite)));
        let style = any(set!(Style | Output)) && (manner || denied);
        seen.on_if(Flag::StyleObject, style);
        seen.on_if(Flag::Fragment, !manner && !task && !denied);
        seen.on_if(Flag::Speaks, any(set!(Speak)));
        letters.len() / 2
    }
}
