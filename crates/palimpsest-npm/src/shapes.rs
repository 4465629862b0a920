//! The shapes of what the module tells, as TypeScript. They are made of our types and stand in `npm/src/shapes.ts`, and
//! `npm/src/same.ts` compares the package's types with them. So a field that is renamed, added or left out here does not reach
//! a user before the declarations say so.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use ts_rs::{TS, TypeVisitor};

/// The declarations of types, by name.
#[derive(Default)]
struct Shapes(BTreeMap<String, String>);

impl TypeVisitor for Shapes {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        if T::output_path().is_none() {
            return;
        }
        let decl = T::decl();
        match self.0.insert(T::ident(), decl.clone()) {
            None => T::visit_dependencies(self),
            Some(other) => assert_eq!(other, decl, "two types are called {}", T::ident()),
        }
    }
}

/// A declaration without its comments, with names as the border writes them. A name stands before a colon, quoted or not.
fn written(decl: &str) -> String {
    let mut out = String::new();
    let mut in_comment = false;
    for line in decl.lines() {
        in_comment |= line.trim_start().starts_with("/**");
        if !in_comment {
            out.push_str(line.trim());
            out.push(' ');
        }
        in_comment &= !line.trim_end().ends_with("*/");
    }
    let mut words: Vec<String> = Vec::new();
    for word in out.split_whitespace() {
        let is_name = word.trim_end_matches('?').ends_with(':') || word.ends_with("?:");
        words.push(if is_name {
            crate::names::camel(word)
        } else {
            word.to_owned()
        });
    }
    for n in 0..words.len() {
        // what may be missing is left out where it is nothing
        let is_optional = words[n].ends_with("?:");
        let end = words[n..].iter().position(|word| word.ends_with(','));
        if let (true, Some(end)) = (is_optional, end)
            && words[n + end] == "null,"
            && words[n + end - 1] == "|"
        {
            words[n + end - 2].push(',');
            words[n + end - 1].clear();
            words[n + end].clear();
        }
    }
    words.retain(|word| !word.is_empty());
    // a whole number crosses as a number, however large its type is
    words.join(" ").replace("bigint", "number")
}

#[test]
fn shapes_are_those_of_the_types() {
    let mut shapes = Shapes::default();
    macro_rules! told {
        ($($type:ty),* $(,)?) => { $( shapes.visit::<$type>(); )* };
    }
    told!(
        palimpsest_browser::outline::Info,
        palimpsest_browser::outline::Item<'static>,
        palimpsest_core::budget::Budget,
        palimpsest_core::compact::CompactReport,
        palimpsest_core::compact::Resolved,
        palimpsest_core::analytics::Analytics,
        palimpsest_core::dialect::Problem,
        palimpsest_core::dialect::imports::Report,
        palimpsest_core::forgotten::Forgotten,
        palimpsest_core::goal::GoalEdit,
        palimpsest_core::layer::Layer,
        palimpsest_core::model::Reliability,
        palimpsest_core::pass::offload::Reference,
        palimpsest_core::prompt::BuiltPrompt,
        palimpsest_core::context::Quote,
        palimpsest_core::record::Records,
        palimpsest_core::replay::ReplayReport,
        palimpsest_core::request::Delta,
        palimpsest_core::run::Preview,
        palimpsest_core::series::SeriesFigures,
        palimpsest_engine::event::Event,
        palimpsest_engine::session::LogEntry,
        palimpsest_engine::session::Snapshot,
    );
    let mut text = String::from(
        "// Made by `PALIMPSEST_BLESS=1 cargo test -p palimpsest-npm shapes` of the types that the module tells. Do not edit.\n",
    );
    for decl in shapes.0.values() {
        let _ = writeln!(text, "\nexport {}", written(decl));
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("npm/src/shapes.ts");
    if std::env::var_os("PALIMPSEST_BLESS").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        committed,
        text,
        "what is told has another shape: bless {}",
        file.display()
    );
}
