//! A model that answers from a script and records its requests.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use futures_util::{StreamExt, stream};
use palimpsest_core::request::{ChatRequest, Delta, FinishReason, ModelError, Purpose, Usage};

use crate::ports::{DeltaStream, LanguageModel, Signal};

/// One answer of the script.
#[derive(Debug, Clone)]
pub enum Answer {
    /// These pieces, in order.
    Deltas(Vec<Result<Delta, ModelError>>),
    /// These deltas, after the signal fires.
    Late(Signal, Vec<Result<Delta, ModelError>>),
    /// No answer until the request is stopped.
    Silence,
}

impl Answer {
    /// A whole reply, with one delta per word.
    pub fn text(text: &str) -> Self {
        let mut deltas: Vec<_> = text
            .split_inclusive(' ')
            .map(|w| Ok(Delta::text(w)))
            .collect();
        deltas.push(Ok(Delta::Usage(Usage::default())));
        deltas.push(Ok(Delta::Done {
            reason: FinishReason::Stop,
        }));
        Self::Deltas(deltas)
    }

    /// A whole reply that arrives only after `signal`.
    pub fn after(signal: Signal, text: &str) -> Self {
        match Self::text(text) {
            Self::Deltas(deltas) => Self::Late(signal, deltas),
            other => other,
        }
    }

    /// A refusal to answer.
    pub fn error(error: ModelError) -> Self {
        Self::Deltas(vec![Err(error)])
    }
}

type Summarizer = dyn Fn(&ChatRequest) -> Answer;

/// Replies come from a queue and summaries from a function, so that they do not mix.
#[derive(Clone)]
pub struct ScriptedModel {
    replies: Rc<RefCell<VecDeque<Answer>>>,
    summarize: Rc<Summarizer>,
    asked: Rc<RefCell<Vec<ChatRequest>>>,
}

impl std::fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptedModel")
            .field("asked", &self.asked.borrow().len())
            .finish_non_exhaustive()
    }
}

impl ScriptedModel {
    /// Answers with these replies in order, and then with the last one again. `summarize` makes summaries.
    pub fn new(
        replies: impl IntoIterator<Item = Answer>,
        summarize: impl Fn(&ChatRequest) -> Answer + 'static,
    ) -> Self {
        Self {
            replies: Rc::new(RefCell::new(replies.into_iter().collect())),
            summarize: Rc::new(summarize),
            asked: Rc::default(),
        }
    }

    /// All requests so far, in order.
    pub fn asked(&self) -> Vec<ChatRequest> {
        self.asked.borrow().clone()
    }
}

impl LanguageModel for ScriptedModel {
    fn complete(&self, request: ChatRequest, signal: Signal) -> DeltaStream<'_> {
        let answer = match request.purpose {
            Purpose::Summary => (self.summarize)(&request),
            Purpose::Chat => {
                let mut replies = self.replies.borrow_mut();
                let last = replies.len() == 1;
                let next = if last {
                    replies.front().cloned()
                } else {
                    replies.pop_front()
                };
                next.unwrap_or_else(|| Answer::text("Yes."))
            }
        };
        self.asked.borrow_mut().push(request);
        match answer {
            Answer::Deltas(deltas) => stream::iter(deltas).boxed_local(),
            Answer::Late(late, deltas) => stream::once(async move { late.aborted().await })
                .flat_map(move |()| stream::iter(deltas.clone()))
                .boxed_local(),
            Answer::Silence => stream::once(async move {
                signal.aborted().await;
                Err(ModelError::Aborted)
            })
            .boxed_local(),
        }
    }
}
