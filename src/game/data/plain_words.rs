//! Errors of the parser in the words of somebody who writes a file of rules or of a map.

use crate::phrase::joined;

/// Rewrites an error of the parser for somebody who does not know its types.
pub(super) fn in_plain_words(message: &str) -> String {
    // Longer numbers than the parser reads; their range is not known here.
    if message.ends_with("number overflowed") {
        return "the number is out of range".to_owned();
    }
    unknown_name(message)
        .unwrap_or_else(|| message.replace("a tuple of size 2", "two numbers, such as [1, 2]"))
}

/// Says of which names one is none, if that is the fault: of a few names all, else the most similar one.
fn unknown_name(message: &str) -> Option<String> {
    const FEW: usize = 8;
    const SIMILAR: f64 = 0.8;
    let (what, rest) = [("key", "unknown field `"), ("value", "unknown variant `")]
        .into_iter()
        .find_map(|(what, before)| Some((what, message.strip_prefix(before)?)))?;
    let (given, names) = rest.rsplit_once("`, expected ")?;
    let names: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
    let similar = |name: &&str| strsim::jaro_winkler(given, name);
    let nearest = names.iter().copied().max_by(|a, b| similar(a).total_cmp(&similar(b)))?;
    Some(match names.len() {
        ..=FEW => format!("unknown {what}; there are {}", joined(&names)),
        _ if similar(&nearest) >= SIMILAR => format!("unknown {what}; did you mean {nearest}?"),
        many => format!("unknown {what}, and none of the {many} known ones is similar"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::rules_error;
    use super::*;

    #[test]
    fn numbers_too_long_for_the_parser_and_pairs_are_explained() {
        let error = rules_error("score_to_win = 900", &format!("score_to_win = {}", "9".repeat(60)));
        assert!(error.ends_with("score_to_win: the number is out of range"), "{error}");
        let pair = in_plain_words("invalid length 1, expected a tuple of size 2");
        assert_eq!(pair, "invalid length 1, expected two numbers, such as [1, 2]");
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest_or_with_all_of_a_few() {
        for (from, to, says) in [
            ("score_to_win =", "score_to_winn =", "score_to_winn: unknown key; did you mean score_to_win?"),
            ("aggro =", "Aggro =", "Aggro: unknown key; did you mean aggro?"),
            ("aggro =", "`, expected `x =", ""),
            ("aggro =", "zzz =", "zzz: unknown key, and none of the "),
            ("hp = 100", "hpp = 100", "hpp: unknown key; did you mean hp?"),
            (
                "attack = \"swordsman\"",
                "attack = \"lancer\"",
                "attack: unknown value; there are swordsman and archer",
            ),
        ] {
            let error = rules_error(from, to);
            assert!(error.contains(says), "{error}");
        }
    }
}
