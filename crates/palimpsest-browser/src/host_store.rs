//! Puts a host's own storage behind the engine's port: three calls and a release, with JSON text on both sides.

use std::any::Any;
use std::cell::RefCell;
use std::rc::{Rc, Weak};

use js_sys::Promise;
use palimpsest_core::sorted::SortedMap;
use palimpsest_engine::ports::{
    Applied, Durability, Expect, Lease, LocalFuture, Op, Query, Row, Store, StoreError,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen]
extern "C" {
    /// A JavaScript object with the function `store`. The function does not throw and its promise does not reject: the
    /// text of the answer carries any failure.
    #[derive(Debug, Clone)]
    pub type StorageHost;

    /// One of the calls `claim`, `read`, `apply` and `release`: JSON text of `{ "Ok": … }` or
    /// `{ "Err": { code, message } }`.
    #[wasm_bindgen(method)]
    fn store(this: &StorageHost, call: &str, given: &str) -> Promise;
}

/// A store that the host keeps. All clones share the storage.
#[derive(Debug, Clone)]
pub struct HostStore {
    host: StorageHost,
    /// The sessions that this store has claimed, and their holders.
    holders: Rc<RefCell<SortedMap<String, Weak<Guard>>>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Claim<'a> {
    session: &'a str,
    take_over: bool,
}

#[derive(Deserialize)]
struct Claimed {
    epoch: u32,
}

#[derive(Serialize)]
struct Holder<'a> {
    session: &'a str,
    epoch: u32,
}

#[derive(Serialize)]
struct Write<'a> {
    lease: Holder<'a>,
    expect: Option<Expect>,
    ops: &'a [Op],
    durability: Durability,
}

/// The host's error. Both fields may be missing.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Refused {
    code: String,
    message: String,
}

impl From<Refused> for StoreError {
    fn from(refused: Refused) -> Self {
        let Refused { code, message } = refused;
        match code.as_str() {
            "session_busy" => Self::Busy,
            "superseded" => Self::Superseded,
            "row_exists" => Self::Exists(message),
            "storage_quota" => Self::Quota,
            "storage_newer" => Self::Newer,
            "storage_unavailable" => Self::Unavailable(message),
            "storage_corrupt" => Self::Corrupt(message),
            _ => Self::Failed(message),
        }
    }
}

/// Releases a session when its last lease is dropped.
#[derive(Debug)]
struct Guard {
    host: StorageHost,
    session: String,
    epoch: u32,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let holder = Holder {
            session: &self.session,
            epoch: self.epoch,
        };
        if let Ok(given) = serde_json::to_string(&holder) {
            // Releasing is a courtesy: no code waits for it, and it does not reject.
            let _ = self.host.store("release", &given);
        }
    }
}

impl HostStore {
    /// Creates the store behind `host`.
    pub fn new(host: StorageHost) -> Self {
        Self {
            host,
            holders: Rc::default(),
        }
    }

    async fn call<T: DeserializeOwned>(
        &self,
        call: &'static str,
        given: String,
    ) -> Result<T, StoreError> {
        let answer = JsFuture::from(self.host.store(call, &given)).await;
        let text = answer.ok().and_then(|text| text.as_string());
        read(call, text.as_deref())
    }
}

fn read<T: DeserializeOwned>(call: &str, text: Option<&str>) -> Result<T, StoreError> {
    let failed = |why: String| StoreError::Failed(format!("{call} of the storage {why}"));
    let text = text.ok_or_else(|| failed("gave no answer".into()))?;
    let read: Result<Result<T, Refused>, _> = palimpsest_text::json::read(text);
    read.map_err(|error| failed(format!("gave something else than it should: {error}")))?
        .map_err(StoreError::from)
}

fn written(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Failed(error.to_string()))
}

impl Store for HostStore {
    fn claim<'a>(
        &'a self,
        session: &'a str,
        take_over: bool,
    ) -> LocalFuture<'a, Result<Lease, StoreError>> {
        Box::pin(async move {
            let is_held = self
                .holders
                .borrow()
                .get(session)
                .is_some_and(|holder| holder.strong_count() > 0);
            if is_held && !take_over {
                return Err(StoreError::Busy);
            }
            let given = written(&Claim { session, take_over })?;
            let claimed: Claimed = self.call("claim", given).await?;
            let guard = Rc::new(Guard {
                host: self.host.clone(),
                session: session.to_owned(),
                epoch: claimed.epoch,
            });
            let mut holders = self.holders.borrow_mut();
            holders.retain(|_, holder| holder.strong_count() > 0);
            holders.insert(session.to_owned(), Rc::downgrade(&guard));
            let guard: Rc<dyn Any> = guard;
            Ok(Lease {
                session: session.to_owned(),
                epoch: claimed.epoch,
                guard: Some(guard),
            })
        })
    }

    fn read(&self, query: Query) -> LocalFuture<'_, Result<Vec<Row>, StoreError>> {
        Box::pin(async move { self.call("read", written(&query)?).await })
    }

    fn apply<'a>(
        &'a self,
        lease: &'a Lease,
        expect: Option<Expect>,
        ops: Vec<Op>,
        durability: Durability,
    ) -> LocalFuture<'a, Result<Applied, StoreError>> {
        Box::pin(async move {
            let given = written(&Write {
                lease: Holder {
                    session: &lease.session,
                    epoch: lease.epoch,
                },
                expect,
                ops: &ops,
                durability,
            })?;
            let _: serde::de::IgnoredAny = self.call("apply", given).await?;
            Ok(Applied {
                rows: ops.iter().filter(|op| op.is_write()).count() as u32,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use palimpsest_engine::ports::Table;

    use super::*;

    /// S5: a storage answers with rows or with a failure that has a code; any other answer is a failure, too.
    #[test]
    fn answers_are_read() {
        let check = |text: Option<&str>, expected: Result<u32, &str>| {
            let got: Result<Claimed, StoreError> = read("claim", text);
            let got = got.map(|c| c.epoch).map_err(|e| e.code());
            assert_eq!(got, expected, "{text:?}");
        };
        check(Some(r#"{"Ok":{"epoch":3}}"#), Ok(3));
        for code in [
            "session_busy",
            "superseded",
            "row_exists",
            "storage_quota",
            "storage_newer",
            "storage_unavailable",
            "storage_corrupt",
            "storage_failed",
        ] {
            let text = format!(r#"{{"Err":{{"code":"{code}","message":"m"}}}}"#);
            check(Some(&text), Err(code));
        }
        check(
            Some(r#"{"Err":{"code":"EIO","message":"disk"}}"#),
            Err("storage_failed"),
        );
        check(Some(r#"{"Err":{"message":"m"}}"#), Err("storage_failed"));
        check(Some(r#"{"Ok":{}}"#), Err("storage_failed"));
        check(None, Err("storage_failed"));
    }

    /// I6: a write crosses as one text: the writer, the conditions, every operation and the durability.
    #[test]
    fn a_write_is_one_text() {
        let ops = vec![
            Op::Add {
                table: Table::Messages,
                key: vec!["s".into(), 1.into()],
                value: "{}".into(),
            },
            Op::DeletePrefix {
                table: Table::Partials,
                prefix: vec!["s".into()],
            },
        ];
        let write = Write {
            lease: Holder {
                session: "s",
                epoch: 2,
            },
            expect: Some(Expect { version: None }),
            ops: &ops,
            durability: Durability::Strict,
        };
        assert_eq!(
            written(&write).unwrap(),
            r#"{"lease":{"session":"s","epoch":2},"expect":{"version":null},"ops":[{"op":"add","table":"messages","key":["s",1],"value":"{}"},{"op":"delete_prefix","table":"partials","prefix":["s"]}],"durability":"strict"}"#
        );
    }
}
