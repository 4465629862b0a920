//! The ids of texts by a model's description: `ids show.json < texts.json`, both lists as JSON. For comparing with a server.

use std::io::Read as _;

use palimpsest_tokens::{Specials, TokenCounter as _, Vocabulary};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which description?")?;
    let vocabulary = Vocabulary::from_show(&std::fs::read(path)?)?;
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input)?;
    let texts: Vec<String> = serde_json::from_str(&input)?;
    let ids: Vec<Vec<u32>> = texts
        .iter()
        .map(|text| {
            let ids = vocabulary.encode(text, Specials::All);
            assert_eq!(vocabulary.count(text) as usize, ids.len(), "{text:?}");
            ids
        })
        .collect();
    let out = std::io::stdout();
    serde_json::to_writer(out.lock(), &ids)?;
    Ok(())
}
