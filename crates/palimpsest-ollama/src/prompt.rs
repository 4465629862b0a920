//! Did the server read all that was sent?

use palimpsest_core::request::ModelError;

/// A smaller difference is the template's business.
const LEAST_DIFFERENCE: u32 = 64;

/// B9: compares the tokens we sent (`sent`, at most `bound` off) with those the server says it read. Reports
/// `prompt_truncated` when it read less than three quarters of the least we can have sent: a server that cuts a prompt
/// cuts it to half a window, while templates that leave out tool calls cost less. No report, no verdict.
pub fn check_prompt(sent: u32, bound: u32, reported: Option<u32>) -> Result<(), ModelError> {
    let Some(reported) = reported else {
        return Ok(());
    };
    let least = sent.saturating_sub(bound);
    let cut = u64::from(reported) * 4 < u64::from(least) * 3;
    if cut && least - reported >= LEAST_DIFFERENCE {
        return Err(ModelError::PromptTruncated { sent, reported });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B9: the cuts recorded from a real server are seen, ordinary differences are not.
    #[test]
    fn silent_cuts_are_noticed() {
        let check = |sent, bound, reported, cut: bool| {
            let expected = if cut {
                Err(ModelError::PromptTruncated { sent, reported })
            } else {
                Ok(())
            };
            assert_eq!(check_prompt(sent, bound, Some(reported)), expected);
        };
        // prompt → what Ollama read with its default flags, at windows of 512, 1024 and 2048
        check(512, 0, 258, true);
        check(2310, 0, 258, true);
        check(1024, 0, 514, true);
        check(2048, 40, 1026, true);
        check(2048, 0, 2048, false);
        check(2048, 0, 1536, false);
        check(2048, 0, 1535, true);
        check(2048, 1000, 1026, false);
        check(100, 0, 40, false);
        check(100, 200, 0, false);
        check(4_000_000_000, 0, 1_000_000_000, true);
        assert_eq!(check_prompt(2048, 0, None), Ok(()));
    }
}
