use palimpsest_text::retention::constraints;
fn main() {
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let found = constraints(&line);
        println!("{:?}\t{line}", found.iter().map(|c| (c.kind, c.level)).collect::<Vec<_>>());
    }
}
