//! Files of other programs, each as it is written by the program that its format is named after.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fmt::Write as _;
use std::fs;

use palimpsest_dialect::imports::{Conversation, Imported, Importer, read};
use serde_json::Value;

fn said(message: &Value) -> String {
    let mut line = message["role"].as_str().unwrap_or_default().to_owned();
    if let Some(call) = message["tool_call_id"].as_str() {
        let _ = write!(line, "({call})");
    }
    if let Some(thought) = message["reasoning_content"].as_str() {
        let _ = write!(line, " <{thought}>");
    }
    match &message["content"] {
        Value::String(text) => {
            let _ = write!(line, ": {}", text.replace('\n', "|"));
        }
        Value::Array(blocks) => {
            for block in blocks {
                let text = block["text"]
                    .as_str()
                    .or(block["image_url"]["url"].as_str());
                let _ = write!(line, ": {}", text.unwrap_or_default());
            }
        }
        _ => {}
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        let (id, name) = (
            call["id"].as_str().unwrap(),
            function["name"].as_str().unwrap(),
        );
        let arguments = function["arguments"].as_str().unwrap();
        let _ = write!(line, " +{id} {name} {arguments}");
    }
    line
}

/// A conversation as lines: its title, the branch that was shown last, every other one.
fn lines(conversation: &Conversation) -> Vec<String> {
    let all = |way: &[u32]| -> Vec<String> {
        way.iter()
            .map(|n| said(&conversation.messages[*n as usize]))
            .collect()
    };
    let mut lines = vec![format!("# {}", conversation.head.title)];
    lines.extend(all(&conversation.shown()));
    for branch in conversation.branches() {
        let of = branch.of.map_or_else(String::new, |of| format!(" of {of}"));
        lines.push(format!("~ after {}{of}", branch.after));
        lines.extend(all(&branch.messages));
    }
    lines
}

fn file(name: &str) -> String {
    let path = format!(
        "{}/../../tests/fixtures/imports/{name}",
        env!("CARGO_MANIFEST_DIR")
    );
    fs::read_to_string(path).unwrap()
}

/// Reads a file whole and in pieces, and compares what was said and what was left out.
fn check(name: &str, format: &str, expected: &[&str], skipped: &[&str]) {
    let text = file(name);
    let whole = read(&text).unwrap();
    let found: Vec<String> = whole.conversations.iter().flat_map(lines).collect();
    assert_eq!(found, expected, "{name}");
    let left: Vec<String> = whole
        .report
        .skipped
        .iter()
        .map(|s| {
            let reason = serde_json::to_value(s.reason).unwrap();
            format!(
                "{} {} {}@{}",
                s.count,
                reason.as_str().unwrap(),
                s.what,
                s.first
            )
        })
        .collect();
    assert_eq!(left, skipped, "{name}");
    assert_eq!(whole.report.formats, [format]);
    assert_eq!(
        whole.report.conversations as usize,
        whole.conversations.len()
    );
    let messages: usize = whole.conversations.iter().map(|c| c.messages.len()).sum();
    assert_eq!(whole.report.imported as usize, messages);
    for size in [1, 61] {
        let mut importer = Importer::default();
        let mut pieces = Imported::default();
        for piece in text.as_bytes().chunks(size) {
            importer.push(piece);
            pieces.take(importer.take());
        }
        assert_eq!(
            pieces.finish(importer).unwrap(),
            whole,
            "{name} in pieces of {size}"
        );
    }
}

/// S7: ChatGPT, with every branch; code that it ran is a call with its result.
#[test]
fn chatgpt() {
    check(
        "chatgpt.json",
        "chatgpt",
        &[
            "# Harbour walk",
            "user: How far is it to pier 7?",
            "assistant +n3 python {\"input\":\"print(1.4)\"}",
            "tool(n3): 1.4",
            "assistant: 1.4 km, along the quay.",
            "user: Is this it?",
            "~ after 1",
            "assistant: Take the bus.",
        ],
        &[
            "1 not_said thoughts@1",
            "1 unknown image_asset_pointer@1",
            "1 empty conversation@2",
        ],
    );
}

/// S7: Claude, with branches, tools and attached files.
#[test]
fn claude() {
    check(
        "claude.json",
        "claude",
        &[
            "# Bread",
            "user: Which flour?|[File: list.txt]|rye, spelt",
            "assistant <Let me look it up.> +t1 search {\"query\":\"spelt\"}",
            "tool(t1): Spelt is milder.",
            "assistant: Spelt, it is milder.",
            "user: Spelt then.",
            "~ after 1",
            "assistant: Rye.",
        ],
        &["1 unknown hologram@1", "1 unknown image@1"],
    );
}

/// S7: Open WebUI, with every branch.
#[test]
fn open_webui() {
    check(
        "open-webui.json",
        "open-webui",
        &[
            "# Ferry",
            "system: Be brief.",
            "user: When does it leave?|[File: plan.txt]|06:40 daily",
            "assistant: At 06:40.",
            "~ after 2",
            "assistant: At seven.",
        ],
        &[],
    );
}

/// S7: LibreChat, with every branch.
#[test]
fn libre_chat() {
    check(
        "librechat.json",
        "librechat",
        &[
            "# Tent",
            "user: Which tent?",
            "assistant <Compare weights.> +w1 weigh {\"tent\":\"blue\"}",
            "tool(w1): 1.9 kg",
            "assistant: The blue one, 1.9 kg.",
            "~ after 1",
            "assistant: The green one.",
        ],
        &[],
    );
}

/// S7: LobeHub: a conversation for each topic, in the order of time.
#[test]
fn lobe_hub() {
    check(
        "lobehub.json",
        "lobehub",
        &[
            "# Garden",
            "user: May I plant today?",
            "assistant <Weather first.> +k1 weather-today {\"city\":\"Kiel\"}",
            "tool(k1): frost",
            "assistant: Not today: frost.",
            "# Just chat",
            "user: Hello",
        ],
        &[],
    );
}

/// S7: Jan.
#[test]
fn jan() {
    check(
        "jan.jsonl",
        "jan",
        &[
            "# ",
            "user: Is the lamp on?",
            "assistant <Ask the switch.> +j1 switch {\"lamp\":1}",
            "tool(j1): on",
            "assistant: Yes, it is on.",
            "user: And this one?: data:image/png;base64,AAAA",
        ],
        &[],
    );
}

/// S7: LM Studio: other versions of a message are branches.
#[test]
fn lm_studio() {
    check(
        "lm-studio.json",
        "lm-studio",
        &[
            "# Knots",
            "system: Answer in one line.",
            "user: How do I tie a bowline?",
            "assistant <Rabbit and tree.> +s1 knot {\"name\":\"bowline\"}",
            "tool(s1): loop, round, back",
            "assistant: Up through the loop, round the tree, back down.",
            "user: Thanks",
            "~ after 2",
            "assistant: Ask a sailor.",
        ],
        &["1 not_said toolStatus@1"],
    );
}

/// S7: SillyTavern: swipes are branches; hidden messages and torn lines are counted.
#[test]
fn silly_tavern() {
    check(
        "sillytavern.jsonl",
        "sillytavern",
        &[
            "# Captain",
            "assistant: Welcome aboard.",
            "user: Where do we sail?",
            "assistant <North it is.>: To Svalbard.",
            "user: Aye.",
            "~ after 0",
            "assistant: Who goes there?",
            "~ after 2",
            "assistant: To Iceland.",
            "~ after 2",
            "assistant: Nowhere.",
        ],
        &["1 hidden is_system@4", "1 not_json no JSON@6"],
    );
}

/// S7: Claude Code: one reply over several lines is one message, parallel calls keep their results, a request that was
/// written again is a branch, and summaries of what is in the file are left out.
#[test]
fn claude_code() {
    check(
        "claude-code.jsonl",
        "claude-code",
        &[
            "# Empty functions",
            "user: Fix the failing test",
            "assistant <Look at both files.> +toolu_1 Read {\"file_path\":\"a.rs\"} +toolu_2 Read {\"file_path\":\"b.rs\"}",
            "tool(toolu_1): fn a() {}",
            "tool(toolu_2): fn b() {}",
            "assistant: Both are empty.",
            "user: Fill b instead.",
            "assistant: Done.",
            "~ after 5",
            "user: Fill a.",
        ],
        &[
            "1 not_said file-history-snapshot@1",
            "1 not_said progress@8",
            "1 hidden isSidechain@9",
            "1 not_said system@13",
            "1 hidden isCompactSummary@14",
            "1 unknown brand-new-record@16",
        ],
    );
}

/// S7: Codex: items of one reply are one message.
#[test]
fn codex() {
    check(
        "codex.jsonl",
        "codex",
        &[
            "# ",
            "system: Work in /srv/app only.",
            "user: How many files?",
            "assistant <Count them.> +call_1 shell {\"command\":[\"ls\"]} +call_2 apply_patch {\"input\":\"*** Begin Patch\"}",
            "tool(call_1): a.rs|b.rs",
            "tool(call_2): Success",
            "assistant: Two.",
        ],
        &[
            "1 not_said event_msg@4",
            "1 not_said turn_context@5",
            "1 not_said compacted@12",
            "1 unknown telepathy@13",
        ],
    );
}

/// S7: pi: a tree whose last entry ends the branch that was shown.
#[test]
fn pi() {
    check(
        "pi.jsonl",
        "pi",
        &[
            "# Files",
            "user: List it",
            "assistant <Use ls.> +pc1 bash {\"command\":\"ls\"}",
            "tool(pc1): a.txt",
            "assistant: One file.",
            "user: Keep it",
            "user: $ date|Mon",
            "~ after 4",
            "user: Delete it",
        ],
        &["1 not_said model_change@2", "1 hidden branch_summary@8"],
    );
}

/// S7: opencode: a reply has a message for each step.
#[test]
fn opencode() {
    check(
        "opencode.json",
        "opencode",
        &[
            "# Port in use",
            "user: Who uses port 80?: data:image/png;base64,BBBB",
            "assistant <Ask ss.> +oc1 bash {\"command\":\"ss -ltn\"}",
            "tool(oc1): nginx",
            "assistant +oc2 bash {\"command\":\"kill 1\"}",
            "tool(oc2): not allowed",
            "assistant: nginx does.",
        ],
        &["1 not_said step-finish@1", "1 unknown hologram@1"],
    );
}

/// S7: Gemini CLI, as one object and as JSON Lines that repeat messages.
#[test]
fn gemini_cli() {
    check(
        "gemini-cli.json",
        "gemini-cli",
        &[
            "# Counting lines",
            "user: How many lines?",
            "assistant <Count: Use wc.>: Let me count. +gc1 run_shell_command {\"command\":\"wc -l a\"}",
            "tool(gc1): 12 a",
            "assistant: Twelve.",
        ],
        &["1 not_said info@1"],
    );
    check(
        "gemini-cli.jsonl",
        "gemini-cli",
        &["# ", "user: Hello", "assistant: Hi.", "user: Bye"],
        &["2 not_said a message that is here@4"],
    );
}

/// S7: lists in every dialect stay as they are, alone, on lines, and inside of requests and sessions.
#[test]
fn plain_lists() {
    let check = |text: &str, titles: &[&str], messages: usize, beside: bool| {
        let read = read(text).unwrap();
        let found: Vec<&str> = read
            .conversations
            .iter()
            .map(|c| c.head.title.as_str())
            .collect();
        let all: usize = read.conversations.iter().map(|c| c.shown().len()).sum();
        assert_eq!(
            (found.as_slice(), all, read.beside.is_some()),
            (titles, messages, beside),
            "{text}"
        );
    };
    let list = r#"[{"role":"user","content":"A"},{"role":"assistant","content":[{"type":"text","text":"B"}]}]"#;
    check(list, &[""], 2, false);
    check(&format!("[{list},{list}]"), &["", ""], 4, false);
    check(
        "{\"role\":\"user\",\"content\":\"A\"}\n\n{\"role\":\"assistant\",\"content\":\"B\"}\n",
        &[""],
        2,
        false,
    );
    check(
        &format!(r#"{{"title":" T ","messages":{list}}}"#),
        &["T"],
        2,
        false,
    );
    check(
        &format!(r#"{{"system":"S","messages":{list}}}"#),
        &[""],
        3,
        false,
    );
    check(
        r#"{"contents":[{"role":"user","parts":[{"text":"A"}]},{"role":"model","parts":[{"text":"B"}]}]}"#,
        &[""],
        2,
        false,
    );
    check(
        r#"{"model":"m","instructions":"S","input":[{"role":"user","content":"A"},{"type":"reasoning","id":"rs_1","summary":[]},{"type":"function_call","call_id":"c","name":"n","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"ok"}]}"#,
        &[""],
        5,
        false,
    );
    check(
        r#"[{"id":"1","role":"user","parts":[{"type":"text","text":"A"}]}]"#,
        &[""],
        1,
        false,
    );
    check(
        &format!(
            r#"{{"palimpsest":1,"settings":{{}},"sessions":[{{"title":"S","messages":{list}}},{{"messages":[]}}]}}"#
        ),
        &["S"],
        2,
        true,
    );
    check(r#"{"palimpsest":1,"settings":{}}"#, &[], 0, true);
    check(
        &format!(r#"{{"title":"W","chat":{{"messages":{list}}}}}"#),
        &["W"],
        2,
        false,
    );
    check(
        "\u{feff}[{\"role\":\"user\",\"content\":\"A\"},",
        &[""],
        1,
        false,
    );
}

/// I10: what holds no conversation says what was found, and text that is no JSON says why.
#[test]
fn other_files() {
    let check = |text: &str, code: &str, part: &str| {
        let error = read(text).unwrap_err();
        assert_eq!(error.code(), code, "{text:?}");
        let said = error.to_string();
        assert!(said.contains(part), "{text:?}: {said}");
    };
    check("", "empty_file", "empty");
    check(" \n\u{feff}", "not_json", "not JSON");
    check("{", "not_json", "too early");
    check("hello you", "not_json", "expected value");
    check("\"hello\"", "no_messages", "it is a string");
    check("{\"a\":1,\"b\":2}", "no_messages", "an object with a, b");
    check("[]", "no_messages", "an empty list");
    check("[1,2]", "no_messages", "a number");
    check(
        "{\"type\":\"FeatureCollection\",\"features\":[]}",
        "no_messages",
        "FeatureCollection",
    );
    check(
        "[[[[[[[{\"role\":\"user\"}]]]]]]]",
        "no_messages",
        "Understood are ChatGPT, Claude",
    );
}

/// S7: a circle of parents ends, and without the newest node the last one of the file counts.
#[test]
fn trees_are_walked_once() {
    let check = |text: &str| {
        let read = read(text).unwrap();
        assert_eq!(
            lines(&read.conversations[0]),
            ["# ", "user: one", "assistant: two"]
        );
    };
    let mapping = r#"{"a":{"parent":"b","message":{"author":{"role":"user"},"content":{"parts":["one"]}}},
        "b":{"parent":"a","message":{"author":{"role":"assistant"},"content":{"text":"two"}}}}"#;
    check(&format!(r#"{{"mapping":{mapping},"current_node":"b"}}"#));
    check(&format!(r#"{{"mapping":{mapping}}}"#));
}

/// S7: a chat of 27,000 messages with three swipes each is read in one go, and its branches are found without walking the
/// conversation once for each.
#[test]
fn a_long_chat_with_swipes() {
    let mut importer = Importer::default();
    let mut file = Imported::default();
    importer.push(b"{\"user_name\":\"A\",\"character_name\":\"B\",\"chat_metadata\":{}}\n");
    for n in 0..27_000 {
        let line = format!(
            "{{\"name\":\"B\",\"is_user\":{},\"mes\":\"m{n}\",\"swipes\":[\"m{n}\",\"x{n}\",\"y{n}\"],\"swipe_id\":0}}\n",
            n % 2 == 0
        );
        importer.push(line.as_bytes());
        file.take(importer.take());
    }
    let read = file.finish(importer).unwrap();
    let conversation = &read.conversations[0];
    assert_eq!(
        (conversation.shown().len(), conversation.branches().len()),
        (27_000, 54_000)
    );
}

/// S7: a file of settings has no conversation and is read all the same, also where it is taken as it arrives.
#[test]
fn a_file_of_settings_alone() {
    let text = "{\n  \"palimpsest\": 1,\n  \"settings\": { \"theme\": \"dark\" },\n  \"profiles\": {}\n}\n";
    for size in [1, 7, text.len()] {
        let mut importer = Importer::default();
        let mut file = Imported::default();
        for piece in text.as_bytes().chunks(size) {
            importer.push(piece);
            file.take(importer.take());
        }
        let beside = file.finish(importer).unwrap().beside.unwrap();
        assert_eq!(beside["settings"]["theme"], "dark", "pieces of {size}");
    }
}
