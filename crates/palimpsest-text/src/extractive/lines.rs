//! Writes chosen pieces as lines: the sentences of a message on one line, the day above them, and the speaker where it
//! changes.

use std::borrow::Cow;

use super::Passage;
use super::date::{Day, read};
use super::fade::{Piece, is_heading};
use super::relative::dated;
use super::turns::Turns;
use crate::retention::Speaker;
use crate::words::segment::UnitKind;

/// The lines so far.
pub(crate) struct Lines<'a> {
    pub text: String,
    /// The place of each piece in the text, in the order of addition.
    pub pieces: Vec<Piece>,
    turns: &'a Turns,
    labelled: bool,
    last: Option<(usize, UnitKind)>,
    speaker: Option<usize>,
    day: Option<Day>,
}

impl<'a> Lines<'a> {
    pub(crate) const fn new(turns: &'a Turns, labelled: bool) -> Self {
        Self {
            text: String::new(),
            pieces: Vec::new(),
            turns,
            labelled,
            last: None,
            speaker: None,
            day: None,
        }
    }

    /// Adds a piece of the passage at this index, with dates after its phrases of time. Call it in the order of the
    /// conversation.
    pub(crate) fn say(&mut self, passage: usize, body: &str, kind: UnitKind) {
        let day = self.turns.turns[passage].day.filter(|_| self.labelled);
        let body = match day {
            Some(day) if kind != UnitKind::Code => dated(body, day, self.turns.language),
            _ => Cow::Borrowed(body),
        };
        self.add(passage, &body, kind);
    }

    /// Adds a piece unchanged.
    pub(crate) fn add(&mut self, passage: usize, body: &str, kind: UnitKind) {
        let flows = |kind| matches!(kind, UnitKind::Sentence | UnitKind::Quote);
        let same = self.last.filter(|(at, _)| *at == passage);
        if same.is_some_and(|(_, before)| flows(before) && flows(kind)) {
            self.text.push(' ');
        } else if !self.text.is_empty() {
            self.text.push('\n');
        }
        if same.is_none() && self.labelled {
            let turn = &self.turns.turns[passage];
            if let Some(day) = turn.day
                && self.day != Some(day)
            {
                self.text.push_str(&self.turns.heading(day));
                self.text.push('\n');
                self.day = Some(day);
                self.speaker = None;
            }
            if self.speaker != Some(turn.speaker) {
                self.text.push_str(&self.turns.label(turn));
                self.speaker = Some(turn.speaker);
            }
        }
        let start = self.text.len() as u32;
        if kind == UnitKind::Code {
            self.text.push_str(body);
        } else {
            one_line(body, &mut self.text);
        }
        self.pieces.push(Piece(start, self.text.len() as u32));
        self.last = Some((passage, kind));
    }
}

/// Returns the lines of a summary as passages: each has the speaker and the day that stand above or before it. A block of
/// code stays in one passage.
pub fn lines_of<'a>(summary: &Passage<'a>) -> Vec<Passage<'a>> {
    let mut lines: Vec<Passage<'a>> = Vec::new();
    let (mut role, mut day) = (summary.role, summary.day);
    // The place at which a block of code begins.
    let mut code = None;
    let mut at = 0;
    for line in summary.text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let is_fence = line.trim_start().starts_with("```");
        let text = match (code, is_fence) {
            (None, true) => {
                code = Some(start);
                continue;
            }
            (Some(from), true) => {
                code = None;
                &summary.text[from..at]
            }
            (Some(_), false) => continue,
            (None, false) => line.trim(),
        };
        if text.is_empty() {
            continue;
        }
        if is_heading(text)
            && let Some(found) = read(text)
        {
            day = Some(found);
            continue;
        }
        let labels = [
            ("User: ", Speaker::User),
            ("Assistant: ", Speaker::Assistant),
            ("Tool: ", Speaker::Tool),
        ];
        let label = labels.iter().find(|(label, _)| text.starts_with(label));
        let words = label.map_or(text, |(label, speaker)| {
            role = *speaker;
            &text[label.len()..]
        });
        lines.push(Passage {
            day,
            ..Passage::new(summary.id, role, words)
        });
    }
    // A block without an end is text to the end.
    if let Some(from) = code {
        lines.push(Passage {
            day,
            ..Passage::new(summary.id, role, &summary.text[from..])
        });
    }
    lines
}

/// Replaces line breaks and runs of spaces by single spaces.
pub(crate) fn one_line(text: &str, out: &mut String) {
    let mut space = false;
    for c in text.chars() {
        if matches!(c, '\n' | '\r' | '\t' | ' ') {
            space = true;
            continue;
        }
        if std::mem::take(&mut space) {
            out.push(' ');
        }
        out.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P6: what stands in a summary is read with its speaker and its day.
    #[test]
    fn lines_have_speaker_and_day() {
        let summary = "Before.\n[8 May 2023]\nUser: I never fly.\nBudget 900.\nAssistant: Noted: 900.\n```\nlet a;\n\nlet b;\n```\n[see below]\nTool: id 7\n* A fact.";
        let found = lines_of(&Passage::new(3, Speaker::Assistant, summary));
        let found: Vec<_> = found.iter().map(|p| (p.role, p.day, p.text)).collect();
        let day = read("8 May 2023");
        assert_eq!(
            found,
            [
                (Speaker::Assistant, None, "Before."),
                (Speaker::User, day, "I never fly."),
                (Speaker::User, day, "Budget 900."),
                (Speaker::Assistant, day, "Noted: 900."),
                (Speaker::Assistant, day, "```\nlet a;\n\nlet b;\n```\n"),
                (Speaker::Assistant, day, "[see below]"),
                (Speaker::Tool, day, "id 7"),
                (Speaker::Tool, day, "* A fact."),
            ]
        );
        let open = lines_of(&Passage::new(3, Speaker::User, "One.\n```\nlet a;"));
        assert_eq!(open[1].text, "```\nlet a;");
    }
}
