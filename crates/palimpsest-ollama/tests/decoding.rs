//! Decodes recorded and hostile answers, cut at every byte.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use std::path::PathBuf;

use palimpsest_core::request::{Delta, FinishReason, ModelError, Usage};
use palimpsest_ollama::{Decoder, Dialect, Limits, Refusal};
use proptest::prelude::*;

fn decode_chunks<'a>(
    dialect: Dialect,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<Delta>, ModelError> {
    let mut decoder = Decoder::new(dialect, Limits::for_answer(1000), "m");
    let mut out = Vec::new();
    for chunk in chunks {
        out.extend(decoder.push(chunk)?);
    }
    out.extend(decoder.finish()?);
    Ok(out)
}

fn decode(dialect: Dialect, body: &[u8]) -> Result<Vec<Delta>, ModelError> {
    decode_chunks(dialect, [body])
}

fn text(deltas: &[Delta]) -> String {
    deltas
        .iter()
        .filter_map(|d| {
            if let Delta::Text { text } = d {
                Some(text.as_str())
            } else {
                None
            }
        })
        .collect()
}

fn bad(why: &str) -> ModelError {
    ModelError::BadResponse { why: why.into() }
}

/// A recorded answer of a real server.
fn golden(name: &str) -> Vec<u8> {
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/ollama-golden");
    std::fs::read(folder.join(format!("{name}.body"))).unwrap()
}

const DONE: Delta = Delta::Done {
    reason: FinishReason::Stop,
};

/// One text with everything that is hard to cut, over both protocols.
fn hard_streams() -> [(Dialect, Vec<u8>, Vec<Delta>); 2] {
    let said = "Zoë 👩‍👩‍👧‍👦: 你好 \u{2028} \"quoted\" \\ \n end";
    let json = serde_json::to_string(said).unwrap();
    let lines = format!(
        "\u{feff}{{\"message\":{{\"content\":{json}}}}}\r\n\n{{\"message\":{{\"content\":\"\\ud83d\\ude00\",\"thinking\":\"hm\"}}}}\n \n{{\"message\":{{\"tool_calls\":[{{\"function\":{{\"name\":\"f\",\"arguments\":{{\"ä\":1}}}}}}]}}}}\r{{\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":16,\"eval_count\":8,\"prompt_eval_duration\":17961000,\"eval_duration\":166493000}}"
    );
    let events = format!(
        "\u{feff}: hello\r\n\r\ndata: {{\"choices\":[{{\"delta\":{{\"role\":\"assistant\",\"content\":{json}}}}}]}}\n\nevent: x\nid: 7\ndata:{{\"choices\":[{{\"delta\":{{\"content\":\"😀\",\"reasoning_content\":\"hm\"}}}}]}}\r\n\r\ndata: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"function\":{{\"name\":\"f\",\"arguments\":\"{{\\\"ä\\\"\"}}}}]}}}}]}}\n\ndata: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"function\":{{\"arguments\":\":1}}\"}}}}]}},\"finish_reason\":\"tool_calls\"}}]}}\n\ndata: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":16,\"completion_tokens\":8}},\"timings\":{{\"prompt_ms\":17.961,\"predicted_ms\":166.5}}}}\n\ndata: [DONE]\n\n"
    );
    let expected = vec![
        Delta::text(said),
        Delta::Thinking { text: "hm".into() },
        Delta::text("😀"),
        Delta::ToolCall {
            id: "call_0".into(),
            name: "f".into(),
            arguments: "{\"ä\":1}".into(),
        },
        Delta::Usage(Usage {
            prompt_tokens: Some(16),
            completion_tokens: Some(8),
            prompt_ms: Some(18),
            completion_ms: Some(167),
        }),
        Delta::Done {
            reason: FinishReason::ToolCalls,
        },
    ];
    [
        (Dialect::Ollama, lines.into_bytes(), expected.clone()),
        (Dialect::OpenAi, events.into_bytes(), expected),
    ]
}

/// F 73, 74: a byte order mark, blank lines, comments and every line end, cut at every pair of bytes, give one result.
#[test]
fn every_split_gives_the_same_deltas() {
    for (dialect, bytes, expected) in hard_streams() {
        for at in 0..=bytes.len() {
            let (a, b) = bytes.split_at(at);
            assert_eq!(
                decode_chunks(dialect, [a, b]).unwrap(),
                expected,
                "{dialect:?} cut at {at}"
            );
        }
        assert_eq!(
            decode_chunks(dialect, bytes.chunks(1)).unwrap(),
            expected,
            "{dialect:?} byte by byte"
        );
    }
}

/// The number of random streams: 2,000, or `PROPTEST_CASES`.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(2000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    /// I10, F 73, 75: arbitrary bytes never panic, and their result does not depend on the chunks.
    #[test]
    fn arbitrary_bytes_never_panic(
        pieces in prop::collection::vec(prop_oneof![
            Just(b"{\"message\":{\"content\":\"a\"}}\n".to_vec()),
            Just(b"{\"done\":true}\n".to_vec()),
            Just(b"{\"error\":\"x\"}".to_vec()),
            Just(b"data: {\"choices\":[{\"delta\":{\"content\":\"<think>\"}}]}\n\n".to_vec()),
            Just(b"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\r\n".to_vec()),
            Just(b"data: [DONE]\n".to_vec()),
            Just(b"{\"message\":{\"tool_calls\":[{},{\"function\":{\"name\":\"n\"}}]}}\r".to_vec()),
            Just(b"\xEF\xBB\xBF".to_vec()),
            Just("\\ud83d😀\"}".as_bytes().to_vec()),
            prop::collection::vec(any::<u8>(), 0..12),
        ], 0..8),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let bytes: Vec<u8> = pieces.concat();
        for dialect in [Dialect::Ollama, Dialect::OpenAi] {
            let whole = decode(dialect, &bytes);
            let mut ends: Vec<usize> = cuts.iter().map(|c| c.index(bytes.len() + 1)).collect();
            ends.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for end in ends {
                chunks.push(&bytes[from..end]);
                from = end;
            }
            chunks.push(&bytes[from..]);
            prop_assert_eq!(decode_chunks(dialect, chunks), whole.clone());
            if let Ok(deltas) = whole {
                let ends = deltas.iter().filter(|d| matches!(d, Delta::Done { .. })).count();
                prop_assert_eq!(ends, 1);
                let last_is_done = matches!(deltas.last(), Some(Delta::Done { .. }));
                prop_assert!(last_is_done);
            }
        }
    }
}

/// Decodes an answer as a whole and at every cut. Compares its text, the counts of prompt and reply, and the reason to
/// finish.
fn whole_answer(
    name: &str,
    bytes: &[u8],
    said: &str,
    (prompt, answer): (u32, u32),
    reason: FinishReason,
) {
    let whole = decode(Dialect::Ollama, bytes).unwrap();
    assert_eq!(text(&whole), said, "{name}");
    let Some([Delta::Usage(usage), done]) = whole.last_chunk() else {
        panic!("{name}: no counts")
    };
    assert_eq!(
        (usage.prompt_tokens, usage.completion_tokens),
        (Some(prompt), Some(answer)),
        "{name}"
    );
    assert_eq!(done, &Delta::Done { reason }, "{name}");
    for at in 0..bytes.len() {
        let (a, b) = bytes.split_at(at);
        assert_eq!(
            decode_chunks(Dialect::Ollama, [a, b]).unwrap(),
            whole,
            "{name} cut at {at}"
        );
    }
}

/// F 73: answers of our own, framed like a server's, decode at every cut: text, counts, reasons.
#[test]
fn answers_of_our_own() {
    let check = |name: &str, body: &str, said: &str, counts, reason| {
        whole_answer(name, body.as_bytes(), said, counts, reason);
    };
    let end = |reason: &str, prompt: u32, answer: u32| {
        format!(
            r#""done":true,"done_reason":"{reason}","total_duration":9,"prompt_eval_count":{prompt},"prompt_eval_duration":4,"eval_count":{answer},"eval_duration":5}}"#
        )
    };
    let piece = |text: &str| {
        format!(
            "{{\"model\":\"m\",\"created_at\":\"T\",\"message\":{{\"role\":\"assistant\",\"content\":\"{text}\"}},\"done\":false}}\n"
        )
    };
    let last = |reason: &str, prompt, answer| {
        format!(
            "{{\"model\":\"m\",\"message\":{{\"role\":\"assistant\",\"content\":\"\"}},{}\n",
            end(reason, prompt, answer)
        )
    };
    let streamed =
        piece("Rye") + &piece(" rolls") + &piece(" with car\\u00e9 way.") + &last("stop", 21, 5);
    check(
        "streamed",
        &streamed,
        "Rye rolls with caré way.",
        (21, 5),
        FinishReason::Stop,
    );
    let at_once = format!(
        "{{\"message\":{{\"role\":\"assistant\",\"content\":\"Rye rolls.\"}},{}",
        end("stop", 21, 4)
    );
    check(
        "at once",
        &at_once,
        "Rye rolls.",
        (21, 4),
        FinishReason::Stop,
    );
    let generated = format!(
        "{{\"response\":\"Rye \",\"done\":false}}\n{{\"response\":\"rolls.\",\"done\":false}}\n{{\"response\":\"\",{}\n",
        end("stop", 3, 4)
    );
    check(
        "generated",
        &generated,
        "Rye rolls.",
        (3, 4),
        FinishReason::Stop,
    );
    let full = piece("Rye") + &last("length", 500, 1);
    check("full", &full, "Rye", (500, 1), FinishReason::Length);
    let thought = "{\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"six o'clock\"},\"done\":false}\n";
    let thinking = thought.to_owned() + &last("length", 17, 3);
    check("thinking", &thinking, "", (17, 3), FinishReason::Length);
    let called = "{\"message\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"oven\",\"arguments\":{\"degrees\":230}}}]},\"done\":false}\n";
    let tools = called.to_owned() + &last("stop", 65, 17);
    check("tools", &tools, "", (65, 17), FinishReason::ToolCalls);
    assert_eq!(
        decode(Dialect::Ollama, tools.as_bytes()).unwrap()[0],
        Delta::ToolCall {
            id: "c".into(),
            name: "oven".into(),
            arguments: "{\"degrees\":230}".into(),
        }
    );
    let broken = piece("Rye") + "{\"error\":\"the oven is cold\"}\n";
    assert_eq!(
        decode(Dialect::Ollama, broken.as_bytes()),
        Err(ModelError::ServerFailed {
            message: "the oven is cold".into()
        })
    );
    let loaded = r#"{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"load"}"#;
    assert_eq!(
        decode(Dialect::Ollama, loaded.as_bytes()).unwrap(),
        [Delta::Done {
            reason: FinishReason::Load
        }]
    );
}

/// The recorded streams of a real server decode at every cut: text, counts, reasons.
#[test]
#[ignore = "needs ../shared/data"]
fn recorded_answers() {
    let check = |name: &str, said: &str, prompt: u32, answer: u32, reason: FinishReason| {
        whole_answer(name, &golden(name), said, (prompt, answer), reason);
    };
    check(
        "chat_stream",
        "The capital of France is Paris.",
        16,
        8,
        FinishReason::Stop,
    );
    check(
        "chat_nostream",
        "The capital of France is Paris.",
        16,
        8,
        FinishReason::Stop,
    );
    check(
        "generate_stream",
        "The capital of France is Paris.",
        16,
        8,
        FinishReason::Stop,
    );
    check(
        "chat_length",
        "In the sleepy town of Ravensburg, nestled between the",
        14,
        12,
        FinishReason::Length,
    );
    check("ctx_silent_truncation_200", "", 258, 1, FinishReason::Stop);
    check("think_stream", "", 17, 12, FinishReason::Length);
    check("tools_stream", "", 65, 17, FinishReason::ToolCalls);
}

#[test]
#[ignore = "needs ../shared/data"]
fn recorded_thinking_tools_and_failure() {
    let [think, tools, broken, load] =
        ["think_stream", "tools_stream", "midstream_error", "load"].map(golden);
    let thought: String = decode(Dialect::Ollama, &think)
        .unwrap()
        .iter()
        .filter_map(|d| {
            if let Delta::Thinking { text } = d {
                Some(text.as_str())
            } else {
                None
            }
        })
        .collect();
    assert_eq!(thought, "The answer is 2 + 2 = 4");
    let call = Delta::ToolCall {
        id: "call_wek5i7y2".into(),
        name: "get_weather".into(),
        arguments: "{\"city\":\"Paris\"}".into(),
    };
    assert_eq!(decode(Dialect::Ollama, &tools).unwrap()[0], call);
    let failure = ModelError::ServerFailed {
        message: "an error was encountered while running the model: unexpected EOF".into(),
    };
    assert_eq!(decode(Dialect::Ollama, &broken), Err(failure));
    assert_eq!(
        decode(Dialect::Ollama, &load).unwrap(),
        [Delta::Done {
            reason: FinishReason::Load
        }]
    );
    for (name, status, expected) in [
        ("err_model_404", 404, "model_missing"),
        ("err_ctx_truncate_false_400", 400, "overflow"),
        ("err_ctx_shift_false_400", 400, "overflow"),
        ("err_think_400", 400, "not_supported"),
        ("err_tools_400", 400, "not_supported"),
        ("err_badjson_400", 400, "bad_request"),
        ("err_option_500", 500, "bad_request"),
        ("err_404path", 404, "bad_response"),
        ("err_405", 405, "bad_response"),
        ("err_emptybody_400", 400, "bad_request"),
    ] {
        let body = golden(name);
        assert_eq!(
            Refusal::new(status, &body).meaning("nope").code(),
            expected,
            "{name}"
        );
    }
}

/// F 76, 77: an error at any line, with or without a line break after it; an end without `done`.
#[test]
fn failures_inside_a_stream() {
    let hello = "{\"message\":{\"content\":\"Hello\"}}\n";
    let failed = |message: &str| {
        Err(ModelError::ServerFailed {
            message: message.into(),
        })
    };
    let check = |body: String, expected: Result<Vec<Delta>, ModelError>| {
        assert_eq!(decode(Dialect::Ollama, body.as_bytes()), expected, "{body}");
    };
    check(format!("{hello}{{\"error\":\"x\"}}\n"), failed("x"));
    check(format!("{hello}{{\"error\":\"x\"}}"), failed("x"));
    check(
        format!("{hello}{{\"error\":\"x\"}}\n{{\"done\":true}}\n"),
        failed("x"),
    );
    check(
        format!("{hello}{{\"error\":{{\"message\":\"x\"}}}}"),
        failed("x"),
    );
    check(hello.into(), Err(ModelError::Truncated));
    check(
        format!("{hello}{{\"done\":fal"),
        Err(bad("its JSON is broken")),
    );
    check("{\"done\":false}".into(), Err(ModelError::Truncated));
    check(String::new(), Err(bad("it is empty")));
    check(
        "<!doctype html><title>Log in</title>".into(),
        Err(bad("it is an HTML page")),
    );
    check(
        "{\"done\":true}{\"done\":true}".into(),
        Err(bad("its JSON is broken")),
    );
    let sse = |body: &str, expected: Result<Vec<Delta>, ModelError>| {
        assert_eq!(decode(Dialect::OpenAi, body.as_bytes()), expected, "{body}");
    };
    let hi = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
    sse(hi, Err(ModelError::Truncated));
    sse(
        &format!("{hi}data: {{\"error\":{{\"message\":\"x\"}}}}"),
        failed("x"),
    );
    sse(
        &format!("{hi}{{\"error\":{{\"message\":\"x\"}}}}"),
        failed("x"),
    );
    sse("<html>", Err(bad("it is an HTML page")));
    sse("", Err(bad("it is empty")));
    // either end is an end
    sse(
        &format!("{hi}data: [DONE]"),
        Ok(vec![Delta::text("Hi"), DONE]),
    );
    sse(
        "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"length\"}]}",
        Ok(vec![
            Delta::text("Hi"),
            Delta::Done {
                reason: FinishReason::Length,
            },
        ]),
    );
    // a server that does not stream
    sse(
        "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}",
        Ok(vec![Delta::text("Hi"), DONE]),
    );
}

/// What comes after the end is not read, however often the end comes.
#[test]
fn nothing_after_the_end_counts() {
    let body = "{\"message\":{\"content\":\"a\"}}\n{\"done\":true}\n{\"done\":true}\n{\"message\":{\"content\":\"b\"}}\nnonsense";
    assert_eq!(
        decode(Dialect::Ollama, body.as_bytes()).unwrap(),
        [Delta::text("a"), DONE]
    );
    let mut decoder = Decoder::new(Dialect::Ollama, Limits::for_answer(10), "m");
    assert!(!decoder.is_done());
    decoder.push(b"{\"done\":true}\n").unwrap();
    assert!(decoder.is_done());
    assert_eq!(decoder.push(&vec![b'x'; 20 << 20]), Ok(vec![]));
    assert_eq!(decoder.finish(), Ok(vec![]));
}

/// F75: lines, answers and texts without end are cut off, and the failure stays.
#[test]
fn caps() {
    let mut decoder = Decoder::new(Dialect::Ollama, Limits::for_answer(100), "m");
    let block = vec![b'x'; 1 << 16];
    let error = (0..1000).find_map(|_| decoder.push(&block).err()).unwrap();
    assert_eq!(
        error,
        ModelError::TooLong {
            what: "a line".into(),
            limit: 1 << 20
        }
    );
    assert_eq!(decoder.push(b"\n{\"done\":true}\n"), Err(error.clone()));
    assert_eq!(decoder.finish(), Err(error));

    let mut decoder = Decoder::new(Dialect::Ollama, Limits::for_answer(1000), "m");
    let line = b"{\"message\":{\"content\":\"0123456789\"}}\n";
    let texts = (0..10_000).find(|_| decoder.push(line).is_err()).unwrap();
    assert_eq!(
        texts, 1600,
        "four times 1,000 tokens of four bytes, ten at a time"
    );

    let mut decoder = Decoder::new(Dialect::OpenAi, Limits::for_answer(1000), "m");
    let comments = ": ping\n".repeat(1 << 14);
    let error = (0..1000)
        .find_map(|_| decoder.push(comments.as_bytes()).err())
        .unwrap();
    assert_eq!(
        error,
        ModelError::TooLong {
            what: "the answer".into(),
            limit: 8 << 20
        }
    );

    let call = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[INDEX]}}]}\n";
    let mut decoder = Decoder::new(Dialect::OpenAi, Limits::for_answer(1000), "m");
    let many: String = (0..200)
        .map(|i| call.replace("INDEX", &format!("{{\"index\":{i}}}")))
        .collect();
    assert_eq!(
        decoder.push(many.as_bytes()),
        Err(bad("it has too many tool calls"))
    );
}

/// Counts that make no sense are absent; a wrong model name, new fields and inherited ones change nothing.
#[test]
fn odd_but_harmless_answers() {
    let check = |last: &str, expected: Option<Usage>| {
        let body = format!(
            "{{\"model\":\"somebody-else:70b\",\"__proto__\":{{\"done\":true}},\"message\":{{\"content\":\"a\",\"images\":null}}}}\n{{\"new\":[1]}}\n{{\"done\":true{last}}}"
        );
        let mut deltas = vec![Delta::text("a")];
        deltas.extend(expected.map(Delta::Usage));
        deltas.push(DONE);
        assert_eq!(
            decode(Dialect::Ollama, body.as_bytes()).unwrap(),
            deltas,
            "{last}"
        );
    };
    check("", None);
    check(",\"prompt_eval_count\":-5,\"eval_count\":1e300", None);
    check(",\"prompt_eval_count\":\"16\",\"eval_count\":0", None);
    check(
        ",\"prompt_eval_count\":16",
        Some(Usage {
            prompt_tokens: Some(16),
            ..Usage::default()
        }),
    );
    assert_eq!(
        decode(Dialect::Ollama, b"{\"done\":true,\"eval_count\":NaN}"),
        Err(bad("its JSON is broken"))
    );
    assert_eq!(
        decode(Dialect::Ollama, b"{\"message\":{\"content\":42}}"),
        Err(bad("its content is not text"))
    );
    assert_eq!(
        decode(
            Dialect::Ollama,
            b"{\"message\":{\"content\":null},\"done\":true}"
        )
        .unwrap(),
        [DONE]
    );
}

/// P2: reasoning that a server leaves in the text is told from the answer, before a tool call too.
#[test]
fn think_tags_in_text() {
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"<th\"}}]}\ndata: {\"choices\":[{\"delta\":{\"content\":\"ink>a</think>\\n\\nb\"}}]}\ndata: [DONE]\n";
    assert_eq!(
        decode(Dialect::OpenAi, body.as_bytes()).unwrap(),
        [Delta::Thinking { text: "a".into() }, Delta::text("b"), DONE]
    );
    let held = "{\"message\":{\"content\":\"<thi\"}}\n{\"message\":{\"tool_calls\":[{\"id\":\"x\",\"function\":{\"name\":\"f\"}}]}}\n{\"done\":true}";
    let call = Delta::ToolCall {
        id: "x".into(),
        name: "f".into(),
        arguments: "{}".into(),
    };
    assert_eq!(
        decode(Dialect::Ollama, held.as_bytes()).unwrap(),
        [
            Delta::text("<thi"),
            call,
            Delta::Done {
                reason: FinishReason::ToolCalls
            }
        ]
    );
}

/// Tool calls in fragments: by index, in any order, ids and names once, arguments as text or object.
#[test]
fn tool_calls_in_fragments() {
    let body = [
        r#"{"index":1,"id":"b","function":{"name":"g","arguments":""}}"#,
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}"#,
        r#"{"index":0,"id":"ignored","function":{"name":"ignored","arguments":":1}"}}"#,
    ]
    .map(|call| format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{call}]}}}},{{\"index\":1,\"delta\":{{\"content\":\"other\"}}}}]}}\n\n"))
    .concat()
        + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";
    let call = |id: &str, name: &str, arguments: &str| Delta::ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    let expected = [
        call("a", "f", "{\"x\":1}"),
        call("b", "g", "{}"),
        Delta::Done {
            reason: FinishReason::ToolCalls,
        },
    ];
    assert_eq!(decode(Dialect::OpenAi, body.as_bytes()).unwrap(), expected);
}
