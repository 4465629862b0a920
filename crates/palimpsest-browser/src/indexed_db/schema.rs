//! The shape of the database, as the steps that lead to it.

use palimpsest_engine::ports::Table;
use wasm_bindgen::JsValue;
use web_sys::{IdbDatabase, IdbTransaction};

/// One step from a version to the next, inside the upgrade's transaction: it happens whole or not at
/// all. Steps only add; what they read or copy they do through the transaction.
pub(super) type Migration = fn(&IdbDatabase, &IdbTransaction) -> Result<(), JsValue>;

/// All steps ever. The version of the schema is their number: append here, never change what is there.
pub(super) const MIGRATIONS: &[Migration] = &[the_tables];

/// One store per table, keys out of line: rows are JSON texts.
fn the_tables(database: &IdbDatabase, _: &IdbTransaction) -> Result<(), JsValue> {
    for table in Table::ALL {
        database.create_object_store(table.name())?;
    }
    Ok(())
}
