//! What the engine does, driven through its ports: one binary, because each further one costs a link and seconds of code
//! generation, and because its tests then run beside each other.

mod archive;
mod audit;
mod bad_input;
mod continuing;
mod counting;
mod damage;
mod evidence;
mod goldens;
mod hands;
mod imports;
mod orders;
mod others;
mod overflow;
mod policies;
mod races;
mod scene;
mod session;
mod stopping;
mod summaries;
mod syncing;
mod temporary;
mod transfer;
mod trash;
mod wiring;
