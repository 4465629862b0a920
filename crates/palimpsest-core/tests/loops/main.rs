//! An agent's loop through `compact`: one request, then hundreds of steps, each call with the grown list and the state of
//! the last one. What is judged is what a provider charges and what the model can still see.

mod corpus;
mod figures;
mod gates;
mod play;
mod rivals;
