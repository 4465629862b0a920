//! What the engine does, driven through its ports: one binary, because each further one costs a link and seconds of code
//! generation, and because its tests then run beside each other.

mod archive;
mod audit;
mod bad_input;
mod counting;
mod evidence;
mod policies;
mod scene;
mod session;
mod transfer;
mod wiring;
