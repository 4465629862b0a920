//! Defines the database as the steps that build it.

use palimpsest_engine::ports::Table;
use wasm_bindgen::JsValue;
use web_sys::{IdbDatabase, IdbTransaction};

/// One step from a version to the next, inside of the upgrade's transaction: it happens whole or not at all. Steps only
/// add, and they read and copy data through the transaction.
pub(super) type Migration = fn(&IdbDatabase, &IdbTransaction) -> Result<(), JsValue>;

/// All steps so far. Their number is the version of the schema: append here, and never change an existing step.
pub(super) const MIGRATIONS: &[Migration] = &[the_tables];

/// Makes one store per table, with keys out of line, because rows are JSON texts.
fn the_tables(database: &IdbDatabase, _: &IdbTransaction) -> Result<(), JsValue> {
    for table in Table::ALL {
        database.create_object_store(table.name())?;
    }
    Ok(())
}
