//! A compaction from the outside: plan, summaries, commit, again and again.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod layers;
mod stages;
mod window;

use std::rc::Rc;

use palimpsest_core::context::{Context, Seed, Setup};
use palimpsest_core::message::{Message, Part, Role};
use palimpsest_core::policy::Policy;
use palimpsest_core::record::Records;
use palimpsest_core::run::{Run, RunOptions, Step, SuppliedSummary};
use palimpsest_core::shares::ShareOptions;
use palimpsest_core::window::{Window, WindowMessage};
use palimpsest_tokens::Estimator;

const SEED: Seed = Seed {
    now: 1.0,
    secret: [7; 16],
};

fn context(window: u32, system: &str) -> Context {
    Context::new(
        Setup::balanced(window).unwrap(),
        Records::with_system(system),
        Rc::new(Estimator::default()),
    )
}

fn say(context: &mut Context, role: Role, text: &str) {
    let seq = context.entries().len() as u32;
    context.push(Rc::new(Message::text(seq, role, text)));
}

fn talk(context: &mut Context, turns: usize) {
    talk_of(context, 0..turns);
}

fn talk_of(context: &mut Context, parts: std::ops::Range<usize>) {
    for n in parts {
        say(
            context,
            Role::User,
            &format!(
                "Question {n}: how do I configure the part called widget_{n} in config/widget_{n}.toml?"
            ),
        );
        let answer = format!(
            "For widget_{n} you set the retry limit to {n} seconds in config/widget_{n}.toml. \
             Then restart the service. We decided to keep the old format for compatibility with version {n}.2. \
             It helps to read the manual first, because the defaults changed recently and are not what one expects."
        );
        say(context, Role::Assistant, &answer);
    }
}

fn run(context: &Context, options: RunOptions) -> Step {
    Run::new(context, options, SEED).step()
}

fn commit(context: &mut Context, step: Step) -> palimpsest_core::run::RunReport {
    match step {
        Step::Done(p) => {
            if let Some(records) = p.records {
                context.set_records(records);
            }
            context.set_view(p.view);
            p.report
        }
        other => panic!("{other:?}"),
    }
}

fn words(window: &Window) -> String {
    let parts = window.messages().iter().flat_map(WindowMessage::parts);
    parts.map(Part::words).collect::<Vec<_>>().join("\n")
}

/// Every window, whatever it went through: the sum is the kept sum, roles alternate, no message is
/// empty, calls and results stand together.
fn check_window(context: &Context) {
    let window = context.window();
    assert_eq!(window.tokens(), context.tokens());
    window.check_egress(context).unwrap();
    let messages = window.messages();
    for pair in messages.windows(2) {
        assert!(
            !(pair[0].role() == Role::User && pair[1].role() == Role::User),
            "two user messages in a row"
        );
    }
    for (i, message) in messages.iter().enumerate() {
        assert!(
            message.parts().iter().any(|p| !p.is_empty()),
            "an empty message"
        );
        let calls = message
            .parts()
            .iter()
            .filter(|p| matches!(p, Part::ToolCall { .. }))
            .count();
        let results = messages[i + 1..]
            .iter()
            .take_while(|m| m.role() == Role::Tool)
            .count();
        assert!(results >= calls, "a call without its result");
    }
}

/// The demands at the head of the layers.
fn demand_block(context: &Context) -> String {
    let window = context.window();
    let parts = window.messages().iter().flat_map(WindowMessage::parts);
    let slot = parts
        .map(Part::words)
        .find(|words| words.contains("<user_demands>"));
    let block = slot.and_then(|words| words.split("</user_demands>").next());
    block.unwrap_or_default().to_owned()
}

fn talk_one(c: &mut Context, n: usize) {
    say(
        c,
        Role::User,
        &format!("Step {n}: please look at src/part_{n}.rs and tell me about fn_{n}."),
    );
    let id = format!("call_{n}");
    let seq = c.entries().len() as u32;
    let mut call = Message::text(seq, Role::Assistant, "");
    call.parts = vec![Part::ToolCall {
        id: id.clone(),
        name: "read".into(),
        arguments: format!("{{\"path\":\"src/part_{n}.rs\"}}"),
    }];
    c.push(Rc::new(call));
    let mut result = Message::text(seq + 1, Role::Tool, "");
    let text = format!("fn fn_{n}() -> u32 {{\n    {n}\n}}\n").repeat(12);
    result.parts = vec![Part::ToolResult {
        call: id,
        name: None,
        text,
        error: false,
    }];
    c.push(Rc::new(result));
    say(
        c,
        Role::Assistant,
        &format!("fn_{n} returns the number {n}; nothing else is in src/part_{n}.rs."),
    );
}

fn with_policy(window: u32, data: &serde_json::Value) -> Context {
    let policy = Policy::from_value(data).unwrap();
    let setup = Setup::new(window, ShareOptions::default(), policy, 0).unwrap();
    Context::new(setup, Records::default(), Rc::new(Estimator::default()))
}

fn parts(context: &mut Context, role: Role, parts: Vec<Part>) -> u32 {
    let seq = context.entries().len() as u32;
    context.push(Rc::new(Message {
        parts,
        ..Message::text(seq, role, "")
    }));
    seq
}

/// A call and its result: two messages.
fn tool(context: &mut Context, id: &str, result: &str) {
    let call = Part::ToolCall {
        id: id.into(),
        name: "read".into(),
        arguments: "{}".into(),
    };
    parts(context, Role::Assistant, vec![call]);
    let result = Part::ToolResult {
        call: id.into(),
        name: None,
        text: result.into(),
        error: false,
    };
    parts(context, Role::Tool, vec![result]);
}

/// Steps the run to its end with this text as every summary; gives the jobs, too.
fn summarized(
    context: &Context,
    options: RunOptions,
    text: &str,
) -> (Vec<palimpsest_core::run::SummaryJob>, Step) {
    let mut run = Run::new(context, options, SEED);
    let mut jobs = Vec::new();
    loop {
        match run.step() {
            Step::Need(job) => {
                run.supply(job.id, SuppliedSummary::Text(text.into()))
                    .unwrap();
                jobs.push(*job);
            }
            other => return (jobs, other),
        }
    }
}

const PLAIN: &str = "The user configures widgets one after the other and asks about the retry limits in config files. The old format stays for compatibility.";

fn by_model() -> RunOptions {
    RunOptions {
        model: Some("m".into()),
        ..RunOptions::default()
    }
}

fn run_step(context: &Context) -> Step {
    run(context, RunOptions::default())
}
