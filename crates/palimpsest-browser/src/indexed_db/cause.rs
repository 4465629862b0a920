//! Translates exceptions of IndexedDB.

use palimpsest_engine::ports::StoreError;
use wasm_bindgen::JsValue;

use crate::global::exception;

/// Returns the error for a thrown or reported exception.
pub(super) fn cause(thrown: &JsValue) -> StoreError {
    let (name, message) = exception(thrown);
    meaning(&name, &message)
}

/// Goes by the name, since each browser has its own messages. The exception is a full disk, which LevelDB reports as an
/// unknown error with the cause inside of the message.
pub(super) fn meaning(name: &str, message: &str) -> StoreError {
    let words = || {
        if message.is_empty() {
            name.to_owned()
        } else {
            format!("{name}: {message}")
        }
    };
    match name {
        "QuotaExceededError" => StoreError::Quota,
        "UnknownError" if is_full_disk(message) => StoreError::Quota,
        "ConstraintError" => StoreError::Exists(message.to_owned()),
        "VersionError" => StoreError::Newer,
        "SecurityError" | "NotSupportedError" => StoreError::Unavailable(words()),
        // The row points to a file that no longer exists.
        "NotReadableError" => StoreError::Corrupt(words()),
        _ => StoreError::Failed(words()),
    }
}

fn is_full_disk(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    [
        "no_space",
        "no space",
        "disk is full",
        "disk full",
        "not enough space",
        "quota",
    ]
    .iter()
    .any(|words| message.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F 83: a full disk is told apart from other failures in every browser.
    #[test]
    fn exceptions_have_the_meaning_a_user_can_act_on() {
        let check = |name: &str, message: &str, code: &str| {
            assert_eq!(meaning(name, message).code(), code, "{name}: {message}");
        };
        check("QuotaExceededError", "", "storage_quota");
        check(
            "UnknownError",
            "Connection is closing because of: IO error: /x/000042.log: FILE_ERROR_NO_SPACE (ChromeMethodBFE: 3::W::8)",
            "storage_quota",
        );
        check("UnknownError", "database or disk is full", "storage_quota");
        check("UnknownError", "Internal error.", "storage_failed");
        check(
            "ConstraintError",
            "Key already exists in the object store.",
            "row_exists",
        );
        check(
            "VersionError",
            "The requested version (1) is less than …",
            "storage_newer",
        );
        check("SecurityError", "denied", "storage_unavailable");
        check(
            "NotReadableError",
            "Data lost due to missing file",
            "storage_corrupt",
        );
        check("AbortError", "", "storage_failed");
        assert_eq!(
            meaning("AbortError", "").to_string(),
            "Storage failed: AbortError."
        );
        assert_eq!(
            meaning("DataError", "bad key").to_string(),
            "Storage failed: DataError: bad key."
        );
    }
}
