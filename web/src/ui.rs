//! The components: functions from state to views.

pub mod app;
pub mod bar;
pub mod budgeting;
pub mod card;
pub mod chat;
pub mod composer;
pub mod connection;
pub mod context;
pub mod dialog;
pub mod field;
pub mod figures;
pub mod header;
pub mod library;
pub mod message;
pub mod notes;
pub mod parameters;
pub mod policy;
pub mod profiles;
pub mod reply;
pub mod settings;
pub mod side;
pub mod snapshots;
pub mod storage;
pub mod thread;
pub mod toast;
pub mod window;
