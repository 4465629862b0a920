//! How cost grows with the conversation: apart from the other tests, whose work beside it would be measured too.

mod cold;
mod conversation;
mod live;
mod passes;
