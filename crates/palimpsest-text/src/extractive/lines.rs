//! Writes chosen pieces as lines: the sentences of a message on one line, the day above them, and the speaker where it
//! changes.

use std::borrow::Cow;

use super::date::Day;
use super::fade::Piece;
use super::relative::dated;
use super::turns::Turns;
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
