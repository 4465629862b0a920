//! Finds the speaker and the day of each passage: from the head of its text if a name stands there, otherwise from its
//! role and time.

use super::Passage;
use super::date::{Day, read, written};
use crate::retention::Speaker;
use crate::words::terms::each_term;
use crate::words::{Language, detect_language};

/// One passage.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    /// The start of its words, after the head.
    pub from: usize,
    /// The speaker, as an index of [`Turns::names`].
    pub speaker: usize,
    /// The day.
    pub day: Option<Day>,
}

/// All passages.
#[derive(Debug)]
#[allow(clippy::struct_field_names, reason = "they are the turns")]
pub(crate) struct Turns {
    pub turns: Vec<Turn>,
    pub names: Vec<String>,
    /// The terms of people's names, sorted.
    pub people: Vec<u64>,
    /// The language of most of the text.
    pub language: Option<Language>,
}

/// The longest head of a message.
const LONGEST: usize = 96;

impl Turns {
    /// Reads the turns, and cuts off the heads of the messages.
    pub(crate) fn of(passages: &[Passage<'_>]) -> Self {
        let heads = passages
            .iter()
            .map(|p| (p.role != Speaker::Tool).then(|| head(p.text)).flatten());
        Self::with(passages, heads.collect())
    }

    /// Reads the turns of messages without heads.
    pub(crate) fn plain(passages: &[Passage<'_>]) -> Self {
        Self::with(passages, passages.iter().map(|_| None).collect())
    }

    fn with(passages: &[Passage<'_>], heads: Vec<Option<Head<'_>>>) -> Self {
        let mut names: Vec<String> = ["User", "Assistant", "Tool"].map(str::to_owned).into();
        let role_of = |role: Speaker| match role {
            Speaker::User => 0,
            Speaker::Assistant => 1,
            Speaker::Tool => 2,
        };
        let mut headed = [false; 3];
        for role in [Speaker::User, Speaker::Assistant] {
            let own = || passages.iter().zip(&heads).filter(|(p, _)| p.role == role);
            let all = own().filter(|(p, _)| !p.text.trim().is_empty()).count();
            let mut found: Vec<&str> = own().filter_map(|(_, h)| Some(h.as_ref()?.name)).collect();
            let matched = found.len();
            let dated = own()
                .filter_map(|(_, h)| h.as_ref())
                .any(|h| h.day.is_some());
            found.sort_unstable();
            found.dedup();
            headed[role_of(role)] = matched * 2 >= all
                && (matched >= 2 && found.len() * 2 <= matched || matched > 0 && dated);
        }
        let mut people = Vec::new();
        let mut last = None;
        let turns = passages
            .iter()
            .zip(heads)
            .map(|(passage, head)| {
                let mut turn = Turn {
                    from: 0,
                    speaker: role_of(passage.role),
                    day: passage.day,
                };
                if let Some(head) = head.filter(|_| headed[role_of(passage.role)]) {
                    turn.from = head.end;
                    turn.day = head.day.or(turn.day);
                    let known = names.iter().position(|n| n == head.name);
                    turn.speaker = known.unwrap_or_else(|| {
                        each_term(head.name, |t| people.push(t.hash));
                        names.push(head.name.to_owned());
                        names.len() - 1
                    });
                }
                // A message without a time has the day of the one before.
                turn.day = turn.day.or(last);
                last = turn.day;
                turn
            })
            .collect();
        people.sort_unstable();
        let mut sample = String::new();
        for passage in passages.iter().filter(|p| p.role != Speaker::Tool) {
            let most = passage.text.len().min(600);
            let end = (0..=most).rev().find(|&n| passage.text.is_char_boundary(n));
            sample.push_str(&passage.text[..end.unwrap_or(0)]);
            sample.push('\n');
            if sample.len() > 6_000 {
                break;
            }
        }
        Self {
            turns,
            names,
            people,
            language: detect_language(&sample),
        }
    }

    /// Returns the label before the words of a passage.
    pub(crate) fn label(&self, turn: &Turn) -> String {
        format!("{}: ", self.names[turn.speaker])
    }

    /// Returns the heading above the words of a day.
    pub(crate) fn heading(&self, day: Day) -> String {
        format!("[{}]", written(day, Language::or_english(self.language)))
    }
}

/// `name (time): ` at the beginning of a message.
struct Head<'a> {
    name: &'a str,
    day: Option<Day>,
    end: usize,
}

/// Returns the name of the speaker that stands before the words of a message, if one does.
pub(crate) fn speaker(text: &str) -> Option<&str> {
    head(text).map(|head| head.name)
}

fn head(text: &str) -> Option<Head<'_>> {
    let start = text.len() - text.trim_start().len();
    let line = text[start..].lines().next()?;
    let mark = line.find(['(', '[', ':', '：'])?;
    if mark > LONGEST {
        return None;
    }
    let name = line[..mark].trim_end();
    let mut day = None;
    let mut colon = mark;
    if matches!(line.as_bytes()[mark], b'(' | b'[') {
        let close = if line.as_bytes()[mark] == b'(' {
            ')'
        } else {
            ']'
        };
        let end = mark + line[mark..].find(close)?;
        day = read(&line[mark + 1..end]);
        colon = end + 1 + (line[end + 1..].len() - line[end + 1..].trim_start().len());
    }
    let width = line[colon..]
        .chars()
        .next()
        .filter(|c| matches!(c, ':' | '：'))?
        .len_utf8();
    let rest = &line[colon + width..];
    if colon > LONGEST || !(rest.is_empty() || rest.starts_with(char::is_whitespace) || width > 1) {
        return None;
    }
    let is_name = name.chars().next().is_some_and(char::is_alphabetic)
        && name.chars().count() <= 40
        && name.split_whitespace().count() <= 3
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, ' ' | '.' | '-' | '_' | '\'' | '’' | '@'));
    let body = start + colon + width;
    let end = body + (text[body..].len() - text[body..].trim_start().len());
    is_name.then_some(Head { name, day, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passages<'a>(texts: &[&'a str]) -> Vec<Passage<'a>> {
        texts
            .iter()
            .zip(0..)
            .map(|(text, id)| Passage::new(id, Speaker::User, text))
            .collect()
    }

    #[test]
    fn heads_are_names_and_times() {
        let check = |texts: &[&str], expected: &[(&str, &str)]| {
            let passages = passages(texts);
            let turns = Turns::of(&passages);
            let got: Vec<(&str, &str)> = (passages.iter().zip(&turns.turns))
                .map(|(p, t)| (turns.names[t.speaker].as_str(), &p.text[t.from..]))
                .collect();
            assert_eq!(got, expected);
        };
        check(
            &["Mel (1:56 pm on 8 May, 2023): Hey: you!", "No head"],
            &[("Mel", "Hey: you!"), ("User", "No head")],
        );
        check(&["Ann: one", "Ann: two"], &[("Ann", "one"), ("Ann", "two")]);
        check(&["Note: buy milk"], &[("User", "Note: buy milk")]);
        check(
            &["http://a.example/ is it", "Why (as I said): no"],
            &[
                ("User", "http://a.example/ is it"),
                ("User", "Why (as I said): no"),
            ],
        );
    }

    #[test]
    fn days_come_from_heads_and_go_on() {
        let passages = passages(&[
            "Mel [8 May 2023]: Hey",
            "Mel: Bye",
            "Mel (2023-05-09): Hello",
        ]);
        let days: Vec<Option<Day>> = Turns::of(&passages).turns.iter().map(|t| t.day).collect();
        assert_eq!(days, [Some(19_485), Some(19_485), Some(19_486)]);
    }
}
