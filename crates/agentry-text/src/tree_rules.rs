//! The rules that YAML, TOML, JSON and ACL share, because they are about the tree and not the syntax.

use crate::limits;

crate::rules! {
    /// Every rule about the shape of a tree, in code order.
    pub RULES = [
        DUPLICATE_KEY: "AG0053",
        TOO_DEEP: "AG0055".make_bad(nested_lists),
        TOO_MANY_VALUES: "AG0056".make_bad(long_list),
    ]
}

fn nested_lists() -> Vec<(String, Vec<u8>)> {
    let (open, close) = ("[".repeat(limits::DEPTH + 1), "]".repeat(limits::DEPTH + 1));
    TOO_DEEP.good.replace("x-grid: [[1, 2], [3, 4]]", &format!("x-list: {open}{close}"))
}

fn long_list() -> Vec<(String, Vec<u8>)> {
    let list = format!("x-list: [{}0]", "0, ".repeat(limits::NODES));
    TOO_MANY_VALUES.good.replace("x-primes: [2, 3, 5, 7]", &list)
}
