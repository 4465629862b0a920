//! What of a conversation stands in a window.

use palimpsest_core::forgotten::{self, Labels, Tally};
pub(crate) use palimpsest_text::survival::{plain, stands};
use palimpsest_text::words::script::unspaced;
use palimpsest_text::words::segment;
use palimpsest_tokens::{Estimator, TokenCounter};
use serde_json::{Value, json};

use crate::contender::{Contender, List, Shown, Who};
use crate::corpus::{self, Question, Talk, chats, joined, said};

/// Hits of all.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Share {
    pub(crate) hits: f64,
    pub(crate) of: f64,
}

impl Share {
    pub(crate) fn add(&mut self, hit: bool) {
        self.hits += f64::from(u8::from(hit));
        self.of += 1.0;
    }

    pub(crate) fn join(&mut self, other: Self) {
        self.hits += other.hits;
        self.of += other.of;
    }

    /// In percent.
    pub(crate) fn percent(self) -> f64 {
        100.0 * self.hits / self.of
    }
}

impl From<Tally> for Share {
    fn from(tally: Tally) -> Self {
        Self {
            hits: f64::from(tally.found),
            of: f64::from(tally.of),
        }
    }
}

/// What was measured by questions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked {
    /// All messages that are needed for the answer stand word for word.
    pub(crate) evidence: Share,
    /// The answer's words stand somewhere.
    pub(crate) answer: Share,
    pub(crate) tokens: Share,
    pub(crate) millis: Share,
}

impl Asked {
    pub(crate) fn join(&mut self, other: Self) {
        self.evidence.join(other.evidence);
        self.answer.join(other.answer);
        self.tokens.join(other.tokens);
        self.millis.join(other.millis);
    }
}

/// What was measured at the end of a conversation, where nothing is asked.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ended {
    pub(crate) facts: Share,
    /// Rules word for word.
    pub(crate) rules: Share,
    /// Of the values that were replaced, those that stand without their successor.
    pub(crate) stale: Share,
    /// Tokens of empty messages in what stands in place of covered ones.
    pub(crate) empty: Share,
    /// Tokens of vague messages there.
    pub(crate) vague: Share,
    /// Lines there that are too short to say anything.
    pub(crate) bare: Share,
}

impl Ended {
    pub(crate) fn join(&mut self, other: Self) {
        self.facts.join(other.facts);
        self.rules.join(other.rules);
        self.stale.join(other.stale);
        self.empty.join(other.empty);
        self.vague.join(other.vague);
        self.bare.join(other.bare);
    }
}

/// Whether a request is answered by this message.
pub(crate) fn is_reply(messages: &[Value], n: usize) -> bool {
    messages[n]["role"] == "assistant" && (n == 0 || messages[n - 1]["role"] != "assistant")
}

/// Lets the conversation happen; `at` is called before each message.
pub(crate) fn live(
    talk: &[Value],
    contender: &mut dyn Contender,
    mut at: impl FnMut(usize, &mut dyn Contender),
) {
    for (n, message) in talk.iter().enumerate() {
        if is_reply(talk, n) {
            contender.tend();
        }
        at(n, contender);
        contender.push(message);
    }
    contender.tend();
}

/// Moments at which questions are asked: the end, and before earlier messages of the user's. What is free in a window depends on
/// how long ago it was compacted, so one moment alone says little.
pub(crate) fn moments(talk: &Talk, most: usize) -> Vec<usize> {
    const APART: usize = 4;
    let mut all = vec![talk.messages.len()];
    for n in (0..talk.messages.len()).rev() {
        if all.len() == most {
            break;
        }
        if talk.messages[n]["role"] == "user" && all.last().is_some_and(|last| n + APART <= *last) {
            all.push(n);
        }
    }
    all
}

/// Every question whose evidence stands before message `said`, each as if it were the only one.
pub(crate) fn ask(talk: &Talk, said: usize, contender: &mut dyn Contender) -> Asked {
    let mut sum = Asked::default();
    let texts: Vec<String> = talk.messages.iter().map(corpus::said).collect();
    let is_said = |question: &&Question| question.evidence.iter().all(|e| *e < said);
    for question in talk.questions.iter().filter(is_said) {
        let shown = contender.ask(&question.text);
        let mut all = question.evidence.iter();
        sum.evidence
            .add(all.all(|e| shown.text.contains(&texts[*e])));
        sum.answer
            .add(stands(&plain(&shown.text), &plain(&question.answer)));
        sum.tokens.hits += f64::from(shown.tokens);
        sum.tokens.of += 1.0;
        sum.millis.hits += shown.took.as_secs_f64() * 1_000.0;
        sum.millis.of += 1.0;
    }
    sum
}

/// What is known about a conversation, as the measure that everybody uses takes it.
pub(crate) fn labels(talk: &Talk) -> Labels {
    Labels {
        facts: talk.facts.clone(),
        rules: talk.rules.clone(),
        updates: talk.updates.clone(),
    }
}

/// What stands when nothing is asked.
pub(crate) fn end(talk: &Talk, shown: &Shown) -> Ended {
    let mut sum = Ended::default();
    let found = forgotten::labelled(&labels(talk), &shown.text);
    sum.facts = found.facts.into();
    sum.rules = found.rules.into();
    sum.stale = found.stale.into();
    (sum.empty, sum.vague) = filler(talk, &shown.made);
    for line in shown.made.lines().filter(|line| !line.trim().is_empty()) {
        sum.bare.add(is_bare(line));
    }
    sum
}

/// Whether a line has at most two words, or five characters where words are not spaced. A label before it does not count.
fn is_bare(line: &str) -> bool {
    let label = |word: &&str| word.ends_with(':') || !word.contains(char::is_alphanumeric);
    let words: Vec<&str> = line.split_whitespace().skip_while(label).collect();
    if words.iter().any(|word| word.contains(unspaced)) {
        return words
            .concat()
            .chars()
            .filter(|c| c.is_alphanumeric())
            .count()
            <= 5;
    }
    words.len() <= 2
}

/// Tokens of empty and of vague messages among all tokens of sentences that stand in `made`, by the labels of the messages
/// that said them.
fn filler(talk: &Talk, made: &str) -> (Share, Share) {
    let (mut empty, mut vague) = (Share::default(), Share::default());
    let made = plain(made);
    let counter = Estimator::default();
    let mut seen: Vec<String> = Vec::new();
    for (message, label) in talk.messages.iter().zip(&talk.labels) {
        if message["role"] == "tool" {
            continue;
        }
        let text = said(message);
        for unit in segment::prose(&text) {
            let sentence = plain(&text[unit.start..unit.end]);
            if !stands(&made, &sentence) || seen.contains(&sentence) {
                continue;
            }
            let tokens = f64::from(counter.count(&sentence));
            empty.of += tokens;
            vague.of += tokens;
            match label {
                'e' => empty.hits += tokens,
                'v' => vague.hits += tokens,
                _ => {}
            }
            seen.push(sentence);
        }
    }
    (empty, vague)
}

/// Values that a call needs and that were said before, though not lately.
#[derive(Debug, Clone)]
pub(crate) struct Need {
    /// The message that calls.
    pub(crate) at: usize,
    pub(crate) values: Vec<String>,
}

/// The values in a call's arguments: whole strings of one word, and of longer ones the words that have a digit or a sign
/// of paths, addresses and names in programs.
fn values(arguments: &Value, out: &mut Vec<String>) {
    match arguments {
        Value::Object(fields) => fields.values().for_each(|value| values(value, out)),
        Value::Array(items) => items.iter().for_each(|value| values(value, out)),
        Value::Number(number) => out.push(number.to_string()),
        Value::String(text) => {
            let one = text.split_whitespace().count() == 1;
            let ends = |c: char| "\"'`()[]{}<>,;:.|&$=!?*\\".contains(c);
            for word in text.split(|c: char| c.is_whitespace() || "\"'`();,=<>|".contains(c)) {
                let word = word.trim_matches(ends);
                let shaped = word
                    .chars()
                    .any(|c| c.is_ascii_digit() || "/_@".contains(c));
                if one || shaped {
                    out.push(word.into());
                }
            }
        }
        _ => {}
    }
    out.retain(|value| (4..=80).contains(&value.chars().count()));
}

/// What the calls of a conversation need of messages that stand further back than `near` tokens. At most `most` calls,
/// spread evenly.
pub(crate) fn needs(talk: &Talk, near: u32, most: usize) -> Vec<Need> {
    let counter = Estimator::default();
    let texts: Vec<String> = talk.messages.iter().map(|m| plain(&said(m))).collect();
    let tokens: Vec<u32> = texts.iter().map(|text| counter.count(text) + 5).collect();
    let system = plain(&talk.system);
    let mut all = Vec::new();
    for (n, message) in talk.messages.iter().enumerate() {
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        let mut own = Vec::new();
        for call in calls {
            let text = call["function"]["arguments"].as_str().unwrap_or_default();
            let arguments: Value = serde_json::from_str(text).unwrap_or_default();
            values(&arguments, &mut own);
        }
        let mut left = near;
        let first = (0..n).rev().find(|m| {
            let rest = left.checked_sub(tokens[*m]);
            left = rest.unwrap_or_default();
            rest.is_none()
        });
        // the message at `first` stands in part within the near ones
        let far = &texts[..first.unwrap_or_default()];
        let near = &texts[first.unwrap_or_default()..n];
        own = own.iter().map(|value| plain(value)).collect();
        own.sort();
        own.dedup();
        own.retain(|value| {
            let said = |texts: &[String]| texts.iter().any(|text| stands(text, value));
            !stands(&system, value) && !said(near) && said(far)
        });
        if !own.is_empty() {
            all.push(Need { at: n, values: own });
        }
    }
    let step = all.len().div_ceil(most).max(1);
    all.into_iter().step_by(step).collect()
}

/// How many of the needed values stand in the window with which the call is asked for.
pub(crate) fn needed(talk: &Talk, needs: &[Need], contender: &mut dyn Contender) -> Share {
    let mut sum = Share::default();
    let last = needs.last().map_or(0, |need| need.at + 1);
    live(&talk.messages[..last], contender, |n, contender| {
        let Some(need) = needs.iter().find(|need| need.at == n) else {
            return;
        };
        let text = plain(&contender.now().text);
        for value in &need.values {
            sum.add(stands(&text, value));
        }
    });
    sum
}

/// The messages before which the function for lists has compacted so many times after the first `said` messages.
pub(crate) fn after_compactions(
    talk: &Talk,
    said: usize,
    window: u32,
    counts: &[u32],
) -> Vec<usize> {
    let mut list = List::new("balanced", &talk.system, window);
    let mut before = 0;
    let mut found = Vec::new();
    for (n, message) in talk.messages.iter().enumerate() {
        if is_reply(&talk.messages, n) {
            list.tend();
        }
        if n <= said {
            before = list.compactions;
        } else if let Some(next) = counts.get(found.len())
            && list.compactions - before >= *next
        {
            found.push(n);
        }
        list.push(message);
    }
    found
}

/// Rules that stand word for word in the windows before those messages.
pub(crate) fn rules(
    talk: &Talk,
    at: &[usize],
    rules: &[String],
    who: Who,
    window: u32,
) -> Vec<Share> {
    let mut sums = vec![Share::default(); at.len()];
    let mut contender = who.start(&talk.system, window);
    let last = at.last().copied().map_or(0, |n| n + 1);
    live(
        &talk.messages[..last],
        contender.as_mut(),
        |n, contender| {
            for (sum, _) in sums.iter_mut().zip(at).filter(|(_, at)| **at == n) {
                let text = plain(&contender.now().text);
                for rule in rules {
                    sum.add(text.contains(&plain(rule)));
                }
            }
        },
    );
    sums
}

/// Every question at so many moments, and what stands at the end of the conversations.
pub(crate) fn measured(talks: &[Talk], who: Who, window: u32, most: usize) -> (Asked, Ended) {
    let (mut asked, mut ended) = (Asked::default(), Ended::default());
    for talk in talks {
        let moments = moments(talk, most);
        let mut contender = who.start(&talk.system, window);
        live(&talk.messages, contender.as_mut(), |n, contender| {
            if moments.contains(&n) {
                asked.join(ask(talk, n, contender));
            }
        });
        ended.join(end(talk, &contender.now()));
        asked.join(ask(talk, talk.messages.len(), contender.as_mut()));
    }
    (asked, ended)
}

/// A conversation that begins with rules, and the rules.
pub(crate) struct Ruled {
    pub(crate) talk: Talk,
    pub(crate) rules: Vec<String>,
    /// The message that says the last of them.
    pub(crate) said: usize,
}

/// Each conversation with rules, with the others after it.
pub(crate) fn own_rules() -> Vec<Ruled> {
    let chats = chats();
    let from = |n: usize| {
        let mut talks = chats.clone();
        talks.rotate_left(n);
        let rules = talks[0].rules.clone();
        let says = |m: &Value| rules.iter().any(|rule| said(m).contains(rule));
        Ruled {
            said: talks[0].messages.iter().rposition(says).unwrap_or_default(),
            talk: joined("chats", &talks),
            rules,
        }
    };
    let all = (0..chats.len()).filter(|n| !chats[*n].rules.is_empty());
    all.map(from).collect()
}

/// Instructions as people wrote them, three at a time at the beginning of a conversation of our own.
pub(crate) fn recorded_rules(talk: &Talk, runs: usize) -> Vec<Ruled> {
    let all = corpus::recorded_rules(&talk.language);
    let step = all.len() / (runs * 3);
    let picked: Vec<String> = all
        .into_iter()
        .step_by(step.max(1))
        .take(runs * 3)
        .collect();
    let begin = |rules: &[String]| {
        let mut talk = talk.clone();
        let first = rules.iter().flat_map(|rule| {
            [
                json!({"role": "user", "content": rule}),
                json!({"role": "assistant", "content": "OK."}),
            ]
        });
        talk.messages = first.chain(talk.messages).collect();
        Ruled {
            talk,
            rules: rules.to_vec(),
            said: rules.len() * 2,
        }
    };
    picked.chunks(3).map(begin).collect()
}

#[test]
fn questions_are_asked_before_messages_of_the_user_and_at_the_end() {
    let talk = &corpus::own("coding")[0];
    let all = moments(talk, 4);
    assert_eq!((all.len(), all[0]), (4, talk.messages.len()));
    for pair in all.windows(2) {
        assert!(pair[1] + 4 <= pair[0]);
        assert_eq!(talk.messages[pair[1]]["role"], "user");
    }
}

#[test]
fn a_bare_line_says_nothing_by_itself() {
    for (line, expected) in [
        ("four days", true),
        ("* EpiPen", true),
        ("U236: Library!!", true),
        ("U270: Code 4471.", true),
        ("U33: I don't like Vic.", false),
        ("New ref BCC-5790.", false),
        ("6月13日", true),
        ("パーティーは6月13日になりました。", false),
    ] {
        assert_eq!(is_bare(line), expected, "{line:?}");
    }
}

#[test]
fn needs_are_values_of_calls_that_stand_far_back() {
    let call = |arguments: &str| {
        json!({"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function",
            "function": {"name": "f", "arguments": arguments}}]})
    };
    let talk = Talk {
        messages: vec![
            json!({"role": "user", "content": "My booking is KF-83920, my cabin B-12-04."}),
            json!({"role": "assistant", "content": "word ".repeat(80)}),
            json!({"role": "user", "content": "The cabin B-12-04, please."}),
            call(r#"{"booking": "KF-83920", "cabin": "B-12-04", "new": "never-said-1"}"#),
        ],
        ..Talk::default()
    };
    let needs = needs(&talk, 40, 10);
    assert_eq!(needs.len(), 1);
    assert_eq!(
        (needs[0].at, &needs[0].values[..]),
        (3, &["kf-83920".to_owned()][..])
    );
}

#[test]
fn filler_is_counted_by_the_labels_of_who_said_it() {
    let talk = Talk {
        messages: vec![
            json!({"role": "user", "content": "Thanks a lot!"}),
            json!({"role": "user", "content": "The train leaves at 9:14 from platform six."}),
        ],
        labels: vec!['e', 'i'],
        ..Talk::default()
    };
    let (empty, vague) = filler(
        &talk,
        "U0: Thanks a lot!\nU1: The train leaves at 9:14 from platform six.",
    );
    assert!(empty.hits > 0.0 && empty.hits < empty.of / 2.0, "{empty:?}");
    assert!(vague.hits == 0.0 && vague.of > 0.0);
}

/// Requests of a conversation at which [`looks`] looks, from its middle to its end.
pub(crate) const LOOKS: usize = 12;

/// Looks at several moments of a conversation while nothing is asked, and at the sizes of the window's parts.
pub(crate) fn looks(talk: &Talk, who: Who, window: u32) -> (Ended, Vec<(String, u32)>) {
    let texts: Vec<String> = talk.messages.iter().map(|m| plain(&said(m))).collect();
    let first = |words: &String| texts.iter().position(|t| stands(t, &plain(words)));
    let replies: Vec<usize> = (talk.messages.len() / 2..talk.messages.len())
        .filter(|n| is_reply(&talk.messages, *n))
        .collect();
    let step = replies.len().div_ceil(LOOKS).max(1);
    let moments: Vec<usize> = replies.into_iter().step_by(step).collect();
    let mut contender = who.start(&talk.system, window);
    let mut sum = Ended::default();
    let mut parts: Vec<(String, u32)> = Vec::new();
    live(&talk.messages, contender.as_mut(), |n, contender| {
        if !moments.contains(&n) {
            return;
        }
        let shown = contender.now();
        let mut known = talk.clone();
        let is_said = |words: &String| first(words).is_some_and(|at| at < n);
        known.facts.retain(is_said);
        known.rules.retain(is_said);
        known.updates.retain(|u| is_said(&u.old) && is_said(&u.new));
        sum.join(end(&known, &shown));
        for (kind, tokens) in shown.parts {
            match parts.iter_mut().find(|(name, _)| *name == kind) {
                Some((_, all)) => *all += tokens,
                None => parts.push((kind, tokens)),
            }
        }
    });
    (sum, parts)
}
