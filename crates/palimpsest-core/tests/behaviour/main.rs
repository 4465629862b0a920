//! What the core does, seen from outside: one binary, because each further one costs a link and seconds of code generation,
//! and because its tests then run beside each other.

mod bad_input;
mod canary;
mod compact;
mod compaction;
mod condense;
mod conformance;
mod dialect;
mod extractive;
mod figures;
mod goldens;
mod instructions;
mod invariants;
mod layers;
mod live;
mod one_layer;
mod open_tail;
mod orders;
mod passes;
mod quotes;
mod reasoning;
mod recall;
mod replays;
mod retained;
mod retention;
mod savings;
mod scene;
mod seeds;
mod shared_room;
mod transcripts;
