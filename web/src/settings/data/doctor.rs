//! The connection doctor's findings in the page's language: by their stable names, from the strings table.

use crate::text::{T, count, fill, number, t};

/// A finding as a sentence; `None` for a name this page does not know yet.
pub fn sentence(code: &str, args: &[String]) -> Option<String> {
    let text = match code {
        "server_up" if args.is_empty() => T::DoctorUp,
        "server_up" => T::DoctorUpVersion,
        "page_allowed" => T::DoctorAllowed,
        "models" => {
            let n = args.first()?.parse().ok()?;
            return Some(count(T::DoctorModelsOne, T::DoctorModelsMany, n));
        }
        "model_answers" => T::DoctorModelAnswers,
        "window" => T::DoctorWindow,
        "old_version" => T::DoctorOldVersion,
        "window_beyond_model" => T::DoctorWindowBeyond,
        "window_smaller" => T::DoctorWindowSmaller,
        "bad_address" => T::DoctorBadAddress,
        "mixed_content" => T::DoctorMixed,
        "local_network_blocked" => T::DoctorLocalNetwork,
        "down" => T::DoctorDown,
        "file_page" => T::DoctorFilePage,
        "cors_refused" => T::DoctorRefused,
        "unauthorized" => T::DoctorKey,
        "busy" => T::DoctorBusy,
        "not_a_model_server" => T::DoctorNoServer,
        "no_model" => T::DoctorNoModel,
        "model_missing" => T::DoctorModelMissing,
        "model_fails" => T::DoctorModelFails,
        _ => return None,
    };
    let args: Vec<String> = args.iter().map(|a| grouped(a)).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    Some(fill(text, &args))
}

/// The `index`-th cure of a finding as a sentence; `system` as [`crate::settings::data::connection::Fix`] names it.
pub fn cure(code: &str, system: Option<&str>, index: usize, args: &[String]) -> Option<String> {
    let text = match (code, system, index) {
        ("bad_address", ..) => T::CureAddress,
        ("mixed_content", _, 0) => T::CureMixedHttp,
        ("mixed_content", ..) => T::CureMixedHttps,
        ("local_network_blocked", _, 0) => T::CureLocalNetwork,
        ("local_network_blocked", ..) => T::CureLocalFrame,
        ("down", Some("Linux"), _) => T::CureStartLinux,
        ("down", Some("macOS"), _) => T::CureStartMac,
        ("down", Some("Windows"), _) => T::CureStartWindows,
        ("down", Some("Docker"), _) => T::CureStartDocker,
        ("down", ..) => T::CureStartOther,
        ("file_page", ..) => T::CureServe,
        ("cors_refused", Some("Linux"), _) => T::CureOriginLinux,
        ("cors_refused", Some("macOS"), _) => T::CureOriginMac,
        ("cors_refused", Some("Windows"), _) => T::CureOriginWindows,
        ("cors_refused", Some("Docker"), _) => T::CureOriginDocker,
        ("cors_refused", ..) => T::CureOriginOther,
        ("old_version", Some("Linux"), _) => T::CureUpdateLinux,
        ("old_version", Some("macOS" | "Windows"), _) => T::CureUpdateApp,
        ("old_version", Some("Docker"), _) => T::CureUpdateDocker,
        ("unauthorized", ..) => T::CureKey,
        ("busy", ..) => T::CureBusy,
        ("not_a_model_server", ..) => T::CureNoServer,
        ("model_fails", ..) => T::CureModelFails,
        ("window_beyond_model", ..) => return Some(fill(T::CureAtMost, &[&grouped(args.get(2)?)])),
        _ => return None,
    };
    Some(t(text).to_owned())
}

/// Separates the thousands of plain digits, and returns any other value unchanged.
fn grouped(value: &str) -> String {
    value
        .parse::<u32>()
        .map_or_else(|_| value.to_owned(), number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table's sentences carry the finding's values, numbers set as the language does.
    #[test]
    fn findings_are_said_in_the_pages_language() {
        let check = |code, args: &[&str], expected: Option<&str>| {
            let args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
            assert_eq!(sentence(code, &args).as_deref(), expected, "{code}");
        };
        check("server_up", &[], Some("The server answers."));
        check(
            "server_up",
            &["0.33.0"],
            Some("The server answers (Ollama 0.33.0)."),
        );
        check("models", &["1"], Some("It has 1 model."));
        check("models", &["7"], Some("It has 7 models."));
        check(
            "window_smaller",
            &["16384", "4096"],
            Some("You asked for 16,384 tokens, but the loaded copy has 4,096."),
        );
        check("tomorrow", &[], None);
        assert_eq!(
            cure(
                "window_beyond_model",
                None,
                0,
                &["9".into(), "m".into(), "8192".into()]
            )
            .as_deref(),
            Some("Choose at most 8,192.")
        );
        assert!(cure("down", Some("Docker"), 3, &[]).is_some());
        assert_eq!(cure("tomorrow", None, 0, &[]), None);
    }
}
