use super::*;

fn case() -> Case {
    Case {
        server: "http://localhost:11434".into(),
        dialect: Dialect::Ollama,
        origin: Some("http://localhost:8080".into()),
        os: Os::MacOs,
        model: Some("llama3.2:3b".into()),
        window: Some(16_384),
        trial: Some(Trial::ONE_TOKEN),
    }
}

const VERSION: Observation<'_> = Observation::Answer {
    status: 200,
    body: br#"{"version":"0.33.0"}"#,
};
const TAGS: Observation<'_> =
    Observation::Answer { status: 200, body: br#"{"models":[{"name":"llama3.2:3b","details":{"context_length":131072}},{"name":"tiny:latest","details":{"context_length":8192}}]}"# };
const NOTHING_LOADED: Observation<'_> = Observation::Answer {
    status: 200,
    body: br#"{"models":[]}"#,
};
const LOADED: Observation<'_> = Observation::Answer {
    status: 200,
    body: br#"{"models":[{"name":"llama3.2:3b","context_length":16384}]}"#,
};
const TRIED: Observation<'_> = Observation::Answer {
    status: 200,
    body: b"{\"message\":{\"content\":\"Hi\"}}\n",
};

/// Runs the doctor to the end and returns the names of probes and findings.
fn examine(case: Case, seen: &[Observation<'_>]) -> (Vec<String>, Vec<&'static str>, Doctor) {
    let mut doctor = Doctor::new(case);
    let mut probes = Vec::new();
    let mut seen = seen.iter();
    while let Some(probe) = doctor.next() {
        probes.push(match probe {
            Probe::Permission => "permission".to_owned(),
            Probe::Opaque { path } => format!("opaque {path}"),
            Probe::Ask { request, .. } => format!("{} {}", request.method, request.path),
        });
        doctor.observe(*seen.next().expect("one observation for each probe"));
    }
    assert_eq!(
        seen.next(),
        None,
        "all observations were asked for: {probes:?}"
    );
    let codes = doctor.findings().iter().map(|f| f.code).collect();
    (probes, codes, doctor)
}

fn codes(case: Case, seen: &[Observation<'_>]) -> Vec<&'static str> {
    examine(case, seen).1
}

/// The order of the probes, and the findings about a healthy server.
#[test]
fn a_healthy_server() {
    let (probes, codes, doctor) =
        examine(case(), &[Observation::Opaque, VERSION, TAGS, TRIED, LOADED]);
    assert_eq!(
        probes,
        [
            "opaque /",
            "GET /api/version",
            "GET /api/tags",
            "POST /api/chat",
            "GET /api/ps"
        ]
    );
    assert_eq!(
        codes,
        [
            "server_up",
            "page_allowed",
            "models",
            "model_answers",
            "window"
        ]
    );
    assert!(doctor.is_well());
    assert_eq!(
        doctor.findings()[0].sentence,
        "The server answers (Ollama 0.33.0)."
    );
    assert_eq!(
        doctor.findings()[4].sentence,
        "The loaded copy has a window of 16,384 tokens."
    );
}

/// F 80: no server listens.
#[test]
fn down() {
    let (_, found, doctor) = examine(case(), &[Observation::Failed]);
    assert_eq!(found, ["down"]);
    assert!(!doctor.is_well());
    assert_eq!(
        doctor.findings()[0].fixes[0].os,
        Some(Os::MacOs),
        "the user's system first"
    );
    assert_eq!(doctor.findings()[0].fixes.len(), 4);
    // Outside of a browser the doctor asks the server at once.
    let node = Case {
        origin: None,
        ..case()
    };
    assert_eq!(codes(node, &[Observation::Failed]), ["down"]);
}

/// F 80: the server runs, but refuses this page. The fix names the exact origin and never a star.
#[test]
fn cors_refused() {
    let page = || Case {
        origin: Some("https://palimpsest.example".into()),
        os: Os::Linux,
        ..case()
    };
    let refused = [
        Observation::Permission(Permission::Granted),
        Observation::Opaque,
        Observation::Failed,
    ];
    let (_, found, doctor) = examine(page(), &refused);
    assert_eq!(found, ["cors_refused"]);
    let finding = &doctor.findings()[0];
    assert_eq!(
        finding.sentence,
        "The server is up, but it refuses pages from https://palimpsest.example."
    );
    assert_eq!(
        finding.fixes[0].commands[2],
        "Environment=\"OLLAMA_ORIGINS=https://palimpsest.example\""
    );
    assert!(
        finding
            .fixes
            .iter()
            .all(|fix| fix.commands.iter().all(|c| !c.contains('*')))
    );
    // The server answers 403 without a body, where the page may read answers.
    assert_eq!(
        codes(
            Case {
                origin: None,
                ..case()
            },
            &[Observation::Answer {
                status: 403,
                body: b""
            }]
        ),
        ["cors_refused"]
    );
    assert_eq!(
        codes(
            Case {
                origin: Some("null".into()),
                ..case()
            },
            &[Observation::Opaque, Observation::Failed]
        ),
        ["file_page"]
    );
}

/// A page's origin goes into commands only if it cannot end a quoted word.
#[test]
fn origins_cannot_inject_commands() {
    let page = Case {
        origin: Some("https://x\"; rm -rf ~; \"".into()),
        ..case()
    };
    let (_, _, doctor) = examine(
        page,
        &[
            Observation::Permission(Permission::Unknown),
            Observation::Opaque,
            Observation::Failed,
        ],
    );
    assert!(
        doctor.findings()[0]
            .fixes
            .iter()
            .all(|fix| fix.commands.iter().all(|c| !c.contains("rm -rf")))
    );
}

/// F 80: a page over https may reach plain http only on this machine.
#[test]
fn mixed_content() {
    let page = |server: &str| Case {
        origin: Some("https://palimpsest.example".into()),
        server: server.into(),
        ..case()
    };
    assert_eq!(
        codes(page("http://192.168.1.5:11434"), &[]),
        ["mixed_content"]
    );
    let (probes, _, _) = examine(
        page("http://127.0.0.1:11434"),
        &[
            Observation::Permission(Permission::Granted),
            Observation::Failed,
        ],
    );
    assert_eq!(probes, ["permission", "opaque /"]);
}

/// F 80: the browser denies access to the local network, or first has to ask for it and then denies it.
#[test]
fn local_network_access() {
    let page = || Case {
        origin: Some("https://palimpsest.example".into()),
        ..case()
    };
    let check =
        |seen: &[Observation<'_>], expected: &str| assert_eq!(codes(page(), seen), [expected]);
    check(
        &[Observation::Permission(Permission::Denied)],
        "local_network_blocked",
    );
    check(
        &[
            Observation::Permission(Permission::Prompt),
            Observation::Failed,
        ],
        "local_network_blocked",
    );
    check(
        &[
            Observation::Permission(Permission::Granted),
            Observation::Failed,
        ],
        "down",
    );
    check(
        &[
            Observation::Permission(Permission::Unknown),
            Observation::Failed,
        ],
        "down",
    );
    // The browser never asks a page on this machine.
    let (probes, _, _) = examine(case(), &[Observation::Failed]);
    assert_eq!(probes, ["opaque /"]);
}

/// F 78: another program listens there.
#[test]
fn not_a_model_server() {
    let check = |seen: Observation<'_>, expected: &str| {
        assert_eq!(codes(case(), &[Observation::Opaque, seen]), [expected]);
    };
    check(
        Observation::Answer {
            status: 200,
            body: b"<!doctype html>",
        },
        "not_a_model_server",
    );
    check(
        Observation::Answer {
            status: 404,
            body: b"404 page not found",
        },
        "not_a_model_server",
    );
    check(
        Observation::Answer {
            status: 200,
            body: b"{}",
        },
        "not_a_model_server",
    );
    check(
        Observation::Answer {
            status: 401,
            body: b"",
        },
        "unauthorized",
    );
    check(
        Observation::Answer {
            status: 503,
            body: b"",
        },
        "busy",
    );
    assert_eq!(
        codes(
            Case {
                server: "localhost".into(),
                ..case()
            },
            &[]
        ),
        ["bad_address"]
    );
}

/// There is no model, or not the one that the user chose.
#[test]
fn models_missing() {
    assert_eq!(
        codes(case(), &[Observation::Opaque, VERSION, NOTHING_LOADED]),
        ["server_up", "page_allowed", "no_model"]
    );
    let other = Case {
        model: Some("mistral".into()),
        ..case()
    };
    let (_, found, doctor) = examine(other, &[Observation::Opaque, VERSION, TAGS]);
    assert_eq!(
        found,
        ["server_up", "page_allowed", "models", "model_missing"]
    );
    assert_eq!(
        doctor.findings()[3].fixes[0].commands,
        ["ollama pull mistral"]
    );
}

/// B1: the findings compare the chosen window, the loaded one and the one of training.
#[test]
fn windows() {
    let small = Observation::Answer {
        status: 200,
        body: br#"{"models":[{"name":"llama3.2:3b","context_length":4096}]}"#,
    };
    let (_, found, doctor) = examine(case(), &[Observation::Opaque, VERSION, TAGS, TRIED, small]);
    assert_eq!(
        found,
        [
            "server_up",
            "page_allowed",
            "models",
            "model_answers",
            "window_smaller"
        ]
    );
    assert_eq!(
        doctor.findings()[4].sentence,
        "You asked for 16,384 tokens, but the loaded copy has 4,096."
    );
    assert!(doctor.is_well(), "it works, with a smaller window");
    let tiny = Case {
        model: Some("tiny".into()),
        trial: None,
        ..case()
    };
    let (_, found, doctor) = examine(tiny, &[Observation::Opaque, VERSION, TAGS, NOTHING_LOADED]);
    assert_eq!(
        found,
        ["server_up", "page_allowed", "models", "window_beyond_model"]
    );
    assert_eq!(
        doctor.findings()[3].sentence,
        "You asked for a window of 16,384 tokens, but tiny:latest was made for 8,192; the server will not give more."
    );
}

/// Old versions are named with the reason; unreadable ones are not called old.
#[test]
fn old_versions() {
    let check = |version: &str, old: bool| {
        let body = format!("{{\"version\":\"{version}\"}}");
        let found = codes(
            case(),
            &[
                Observation::Opaque,
                Observation::Answer {
                    status: 200,
                    body: body.as_bytes(),
                },
                NOTHING_LOADED,
            ],
        );
        assert_eq!(found.contains(&"old_version"), old, "{version}");
    };
    check("0.17.0", true);
    check("0.9.6", true);
    check("0.17.1-rc0", false);
    check("0.33.0-rc2", false);
    check("1.0.0", false);
    check("0.0.0", false);
    check("main", false);
}

/// The last finding repeats the model's error.
#[test]
fn the_model_fails() {
    let failed = Observation::Answer { status: 500, body: br#"{"error":"model requires more system memory (9.1 GiB) than is available (4.0 GiB)"}"# };
    let (_, found, doctor) = examine(case(), &[Observation::Opaque, VERSION, TAGS, failed]);
    assert_eq!(found.last(), Some(&"model_fails"));
    assert_eq!(
        doctor.findings().last().map(|f| f.sentence.as_str()),
        Some(
            "The model does not answer: The model server failed: model requires more system memory (9.1 GiB) than is available (4.0 GiB)"
        )
    );
}

/// An error inside of a 200 answer is a failure.
#[test]
fn the_model_fails_inside_its_answer() {
    let failed = Observation::Answer {
        status: 200,
        body: b"{\"error\":\"model runner has unexpectedly stopped\"}\n",
    };
    let found = codes(case(), &[Observation::Opaque, VERSION, TAGS, failed]);
    assert_eq!(found.last(), Some(&"model_fails"));
}

/// The same examination for an OpenAI-compatible server, which sets its own window.
#[test]
fn an_openai_server() {
    let llama = Case {
        dialect: Dialect::LlamaCpp,
        server: "http://127.0.0.1:8081".into(),
        model: Some("smollm2:135m".into()),
        ..case()
    };
    let list = Observation::Answer {
        status: 200,
        body: br#"{"data":[{"id":"smollm2:135m","meta":{"n_ctx":4096,"n_ctx_train":8192}}]}"#,
    };
    let (probes, found, _) = examine(llama, &[Observation::Opaque, list, TRIED]);
    assert_eq!(
        probes,
        ["opaque /", "GET /v1/models", "POST /v1/chat/completions"]
    );
    assert_eq!(
        found,
        [
            "server_up",
            "models",
            "window_beyond_model",
            "window_smaller",
            "model_answers"
        ]
    );
}
