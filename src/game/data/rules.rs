//! Rules from TOML: parsing, and what must hold between their values.

use std::collections::BTreeSet;

use serde::Deserialize;
use toml::Spanned;

use super::values::{Decimal, Opening, Title, Turning, Whole};
use super::{DataError, Source};
use sim::{
    AttackBehaviour, Glyph, Heroes, KINDS_MAX, KeyLabel, KindName, MinionRules, Minions, Rules, UnitRules,
};

/// Range of a sword's reach, and of a bow's, in thousandths of a tile.
const SWORD_REACH: (i32, i32) = (500, 4_000);
const BOW_REACH: (i32, i32) = (1_000, 20_000);
/// Weight with which a kind captures circles if its row does not say, in thousandths.
const CAPTURE: i32 = 1_000;

/// Declares the columns that minions and heroes share, and those that only this one has.
macro_rules! kind_file {
    ($file:ident; $($(#[$attribute:meta])* $own:ident: $type:ty,)*) => {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $file {
            name: Spanned<KindName>,
            attack: AttackBehaviour,
            glyph: Option<Glyph>,
            $($(#[$attribute])* $own: $type,)*
            hp: Whole<1, 10_000>,
            speed: Decimal<100, 12_000>,
            radius: Decimal<200, 1_000>,
            reach: Spanned<Decimal<500, 20_000>>,
            damage: Whole<0, 10_000>,
            cooldown: Decimal<100, 30_000>,
            windup: Decimal<0, 5_000>,
            arrow_speed: Option<Spanned<Decimal<1_000, 30_000>>>,
            capture: Option<Decimal<0, 10_000>>,
        }

        impl $file {
            fn unit(&self, source: &Source<'_>) -> Result<UnitRules, DataError> {
                let (name, reach) = (&self.name, self.reach.get_ref().0);
                let ((least, most), weapon) = match self.attack {
                    AttackBehaviour::Swordsman => (SWORD_REACH, "a sword"),
                    AttackBehaviour::Archer => (BOW_REACH, "a bow"),
                };
                if !(least..=most).contains(&reach) {
                    let [reach, least, most] = [reach, least, most].map(|milli| f64::from(milli) / 1000.0);
                    let message = format!("{reach} is not from {least} to {most}, the reach of {weapon}");
                    return Err(source.invalid(self.reach.span().start, message));
                }
                let arrow_speed = match (self.attack, &self.arrow_speed) {
                    (AttackBehaviour::Swordsman, None) => 0,
                    (AttackBehaviour::Archer, Some(speed)) => speed.get_ref().0,
                    (AttackBehaviour::Swordsman, Some(speed)) => {
                        return Err(source.invalid(speed.span().start, "a sword shoots no arrow"));
                    }
                    (AttackBehaviour::Archer, None) => {
                        return Err(source.invalid(name.span().start, "a bow needs arrow_speed"));
                    }
                };
                Ok(UnitRules {
                    name: *name.get_ref(),
                    attack: self.attack,
                    glyph: self.glyph,
                    hp: self.hp.into(),
                    speed: self.speed.into(),
                    radius: self.radius.into(),
                    reach,
                    damage: self.damage.into(),
                    cooldown_ms: self.cooldown.into(),
                    windup_ms: self.windup.into(),
                    arrow_speed,
                    capture: self.capture.as_ref().map_or(CAPTURE, |weight| weight.0),
                })
            }
        }
    };
}

kind_file! { MinionFile;
    plural: Option<KindName>,
    cost: Whole<0, 1_000>,
    start: Whole<0, 250>,
    train_key: Option<Spanned<KeyLabel>>,
    select_key: Option<Spanned<KeyLabel>>,
}

kind_file! { HeroFile; }

/// Declares the file format of the rules: each field with the type that gives its range.
macro_rules! rules_file {
    ($($(#[$attribute:meta])* $field:ident $(as $key:literal)?: $type:ty,)*) => {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct RulesFile {
            name: Title,
            #[serde(rename = "minion")]
            minions: Vec<MinionFile>,
            #[serde(rename = "hero")]
            heroes: Vec<HeroFile>,
            $($(#[$attribute])* $(#[serde(rename = $key)])? $field: $type,)*
        }

        impl RulesFile {
            fn rules(self, minions: Minions, heroes: Heroes) -> Rules {
                Rules { name: self.name.into(), minions, heroes, $($field: self.$field.into(),)* }
            }
        }
    };
}

rules_file! {
    arrow_radius: Decimal<10, 500>,
    arc_half as "arc": Opening,
    turn_per_s as "turn": Turning,
    aggro: Decimal<1_000, 20_000>,
    guard: Decimal<500, 20_000>,
    pace_radius: Decimal<0, 20_000>,
    archer_keeps: Decimal<0, 20_000>,
    dash_length: Decimal<500, 10_000>,
    dash_ms as "dash": Decimal<100, 2_000>,
    dash_cooldown_ms as "dash_cooldown": Decimal<0, 600_000>,
    banner_radius: Decimal<0, 20_000>,
    banner_ms as "banner": Decimal<0, 600_000>,
    banner_cooldown_ms as "banner_cooldown": Decimal<0, 600_000>,
    banner_cooldown_percent: Whole<10, 100>,
    regeneration_per_s: Whole<0, 1_000>,
    regeneration_after_ms as "regeneration_after": Decimal<0, 600_000>,
    respawn_ms as "respawn": Decimal<0, 600_000>,
    respawn_per_minute_ms as "respawn_per_minute": Decimal<0, 60_000>,
    minions_max: Whole<0, 250>,
    supply_per_minute: Whole<0, 6_000>,
    behind_supply_percent: Whole<0, 1_000>,
    supply_max: Whole<0, 1_000>,
    supply_start: Whole<0, 1_000>,
    training_ms as "training": Decimal<0, 600_000>,
    training_max: Whole<0, 8>,
    escalation_ms as "escalation": Decimal<0, 3_600_000>,
    circle_radius: Decimal<500, 10_000>,
    capture_ms as "capture": Decimal<100, 600_000>,
    capture_least_ms as "capture_least": Decimal<100, 600_000>,
    capture_decay_ms as "capture_decay": Decimal<100, 600_000>,
    core_hp: Whole<1, 1_000_000>,
    core_radius: Decimal<500, 4_000>,
    hero_core_percent: Whole<0, 100>,
    hero_score: Whole<0, 1_000>,
    score_to_win: Whole<1, 1_000_000>,
    sudden_death_ms as "sudden_death": Decimal<0, 3_600_000>,
    burn_shared: Whole<1, 1_000_000>,
    burn_behind: Whole<1, 1_000_000>,
    #[serde(default)]
    endless: bool,
}

pub(super) fn parse_rules(source: &Source<'_>) -> Result<Rules, DataError> {
    let file = source.parse::<RulesFile>()?;
    let at =
        |field: &str| source.text.find(&format!("\n{field}")).map_or(0, |newline| newline.saturating_add(1));
    let (minions, heroes) = kinds(source, &file)?;
    let rules = file.rules(minions, heroes);
    let starts_with = rules.minions_at_start();
    if starts_with > u32::from(rules.minions_max) {
        let message = format!("fewer than the {starts_with} that a player starts with");
        return Err(source.invalid(at("minions_max"), message));
    }
    if rules.supply_start > rules.supply_max {
        return Err(source.invalid(at("supply_start"), "more than supply_max"));
    }
    if rules.capture_least_ms > rules.capture_ms {
        return Err(source.invalid(at("capture_least"), "longer than capture"));
    }
    Ok(rules)
}

/// Checks the number of kinds, their names and their keys.
fn kinds(source: &Source<'_>, file: &RulesFile) -> Result<(Minions, Heroes), DataError> {
    let RulesFile { minions, heroes, .. } = file;
    let (some, others) = (minions.len(), heroes.len());
    if some.saturating_add(others) > KINDS_MAX {
        let last = minions.last().map_or(0, |minion| minion.name.span().start);
        let last = heroes.last().map_or(last, |hero| hero.name.span().start.max(last));
        let message = format!(
            "{some} minions and {others} heroes are more than the {KINDS_MAX} kinds that rules may have"
        );
        return Err(source.invalid(last, message));
    }
    if some == 0 || others == 0 {
        return Err(source.invalid(0, format!("{some} minions and {others} heroes: rules need one of each")));
    }
    distinct(source, "the name of another minion", minions.iter().map(|minion| &minion.name))?;
    distinct(source, "the name of another hero", heroes.iter().map(|hero| &hero.name))?;
    let keys = minions.iter().flat_map(|minion| [&minion.train_key, &minion.select_key]).flatten();
    distinct(source, "the key of something else", keys)?;
    let minions = minions.iter().map(|minion| {
        Ok(MinionRules {
            unit: minion.unit(source)?,
            plural: minion.plural,
            cost: minion.cost.into(),
            start: minion.start.into(),
            train_key: minion.train_key.as_ref().map(|key| *key.get_ref()),
            select_key: minion.select_key.as_ref().map(|key| *key.get_ref()),
        })
    });
    Ok((
        minions.collect::<Result<_, _>>()?,
        heroes.iter().map(|hero| hero.unit(source)).collect::<Result<_, _>>()?,
    ))
}

/// Refuses the second of two equal values.
fn distinct<'a, T: Ord + 'a>(
    source: &Source<'_>,
    fault: &str,
    values: impl Iterator<Item = &'a Spanned<T>>,
) -> Result<(), DataError> {
    let mut seen = BTreeSet::new();
    for value in values {
        if !seen.insert(value.get_ref()) {
            return Err(source.invalid(value.span().start, fault));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{STANDARD_RULES, rules_error};
    use super::super::{parse_rules, rules};
    use super::*;

    #[test]
    fn decimals_become_exact_thousandths() {
        let rules = rules("standard").expect("built in");
        assert_eq!(rules.minions[0].unit.speed, 3_600);
        assert_eq!(rules.minions[1].unit.windup_ms, 300);
        assert_eq!(rules.arc_half, 4_096);
        assert_eq!(rules.turn_per_s, 98_304);
    }

    #[test]
    fn a_kind_captures_like_any_other_unless_its_row_says_so() {
        let rules = rules("standard").expect("built in");
        let weights: Vec<i32> = rules.minions.iter().map(|minion| minion.unit.capture).collect();
        assert_eq!(weights, [1_000, 1_000, 300]);
        assert!(rules.heroes.iter().all(|hero| hero.capture == 1_000));
    }

    #[test]
    fn endless_differs_from_standard_in_its_end_and_one_minion() {
        let (standard, endless) = (rules("standard").expect("built in"), rules("endless").expect("built in"));
        let mut expected = Rules { name: "standard".into(), endless: false, ..(*endless).clone() };
        expected.minions[0].start = 3;
        assert_eq!(*standard, expected);
        assert!(endless.endless);
    }

    #[test]
    fn errors_name_file_line_and_field() {
        let line = STANDARD_RULES.lines().position(|line| line.starts_with("aggro")).expect("there") + 1;
        let error = rules_error("aggro = 9.5", "aggro = 99.0");
        assert!(error.starts_with(&format!("r.toml:{line}: aggro: 99 is not from 1 to 20")), "{error}");
        // A fault of the syntax at a letter of several bytes.
        let error = rules_error("aggro = 9.5", "aggro = ö");
        assert!(error.starts_with(&format!("r.toml:{line}: aggro: ")), "{error}");
    }

    #[test]
    fn rules_out_of_range_are_refused() {
        for (from, to, why) in [
            ("speed = 3.6", "speed = 3.60001", "more than three decimal places"),
            ("speed = 3.6", "speed = nan", "not from"),
            ("hp = 100", "hp = 40000", "not from 1 to 10000"),
            ("hp = 100", "hp = 1.5", "invalid type"),
            ("aggro = 9.5", "agro = 9.5", "unknown key"),
            ("training_max = 5", "training_max = 9", "not from 0 to 8"),
            (
                "name = \"standard\"",
                &format!("name = \"{}\"", "x".repeat(49)),
                "49 bytes are not from 1 to 48",
            ),
            ("name = \"standard\"", "name = \"\\u001b[2J\"", "control or invisible characters"),
            ("minions_max = 7", "minions_max = 4", "fewer than"),
            ("supply_start = 3", "supply_start = 21", "more than"),
            ("capture_least = 1.5", "capture_least = 5.0", "longer than"),
            ("guard = 3.0", "guard = 0.4", "not from 0.5 to 20"),
            ("pace_radius = 8.0", "pace_radius = 21.0", "not from 0 to 20"),
        ] {
            let error = rules_error(from, to);
            assert!(error.contains(why), "{to}: {error}");
        }
    }

    #[test]
    fn the_reference_has_every_key_of_rules_with_its_range() {
        let reference = include_str!("../../../docs/REFERENCE.md");
        let table = reference
            .split("| key | values | meaning |\n|---|---|---|\n")
            .find(|part| part.contains("`aggro`"));
        let rows = table.expect("a table of keys").lines().take_while(|line| line.starts_with('|'));
        let rows: Vec<_> = rows
            .map(|row| {
                let mut cells = row.split('|').map(str::trim).skip(1);
                (cells.next().expect("a key").trim_matches('`'), cells.next().expect("a range"))
            })
            .collect();
        let file: toml::Table = STANDARD_RULES.parse().expect("TOML");
        let is_number = |(key, value): (&String, &toml::Value)| {
            (value.is_float() || value.is_integer()).then(|| key.clone())
        };
        let keys: BTreeSet<String> = file.iter().filter_map(is_number).collect();
        assert_eq!(rows.iter().map(|row| row.0.to_owned()).collect::<BTreeSet<_>>(), keys);
        for (key, range) in rows {
            let most: f64 = range.split(" to ").nth(1).and_then(|most| most.parse().ok()).expect("a number");
            let line = STANDARD_RULES.lines().find(|line| line.starts_with(&format!("{key} = ")));
            for beyond in [-1.0, most + 1.0] {
                let error = rules_error(line.expect("there"), &format!("{key} = {beyond}"));
                assert!(error.ends_with(&format!("{key}: {beyond} is not from {range}")), "{error}");
            }
        }
    }

    #[test]
    fn kinds_out_of_range_are_refused_with_the_line_and_the_numbers() {
        for (from, to, line, why) in [
            (
                "name = \"archer\"",
                "name = \"swordsman\"",
                "name = \"swordsman\"",
                "name: the name of another minion",
            ),
            ("name = \"archer\"", "name = \"Archer\"", "name = \"Archer\"", "a to z, 0 to 9 and -"),
            ("train_key = \"N\"", "train_key = \"V\"", "train_key = \"V\"", "the key of something else"),
            ("train_key = \"N\"", "train_key = \"Esc\"", "train_key = \"Esc\"", "train_key: "),
            ("reach = 1.4", "reach = 4.5", "reach = 4.5", "4.5 is not from 0.5 to 4, the reach of a sword"),
            ("reach = 9.0", "reach = 0.9", "reach = 0.9", "0.9 is not from 1 to 20, the reach of a bow"),
            ("attack = \"archer\"", "attack = \"swordsman\"", "", "a sword"),
            ("arrow_speed = 14.0\n", "", "", "a bow needs arrow_speed"),
            (
                "attack = \"archer\"",
                "attack = \"wizard\"",
                "attack = \"wizard\"",
                "there are swordsman and archer",
            ),
            (
                "attack = \"archer\"",
                "attack = \"archer\"\nglyph = \"x\"",
                "glyph = \"x\"",
                "unknown value; there are ",
            ),
            ("cost = 3\n", "", "", "cost: this key is missing"),
            ("capture = 0.3", "capture = 10.1", "capture = 10.1", "10.1 is not from 0 to 10"),
            ("hp = 280", "cost = 3\nhp = 280", "cost = 3\nhp = 280", "unknown key"),
        ] {
            let error = rules_error(from, to);
            assert!(error.contains(why), "{to}: {error}");
            let before = STANDARD_RULES.split(from).next().filter(|_| !line.is_empty()).unwrap_or_default();
            let within = to.split(line).next().unwrap_or_default();
            let lines = [before, within].map(|text| text.matches('\n').count()).iter().sum::<usize>();
            let line = (!line.is_empty()).then(|| format!("r.toml:{}: ", lines + 1));
            assert!(error.starts_with(&line.unwrap_or_default()), "{to}: {error}");
        }
    }

    #[test]
    fn rules_have_one_to_eight_kinds() {
        let hero = STANDARD_RULES.split("[[hero]]").last().expect("heroes");
        let with = |more: usize| {
            let names = (0..more)
                .map(|more| format!("\n[[hero]]{}", hero.replacen("archer", &format!("hero-{more}"), 1)));
            let text = STANDARD_RULES.to_owned() + &names.collect::<String>();
            parse_rules(&Source { file: "r.toml", text: &text })
        };
        assert_eq!(with(KINDS_MAX - 5).expect("eight").heroes.len(), 5);
        let error = with(KINDS_MAX - 4).expect_err("nine").to_string();
        assert!(error.contains("3 minions and 6 heroes are more than the 8 kinds"), "{error}");
        let text = STANDARD_RULES.split("[[hero]]").next().expect("the minions").replacen(
            "name",
            "hero = []\nname",
            1,
        );
        let error = parse_rules(&Source { file: "r.toml", text: &text }).expect_err("no hero").to_string();
        assert!(error.contains("3 minions and 0 heroes: rules need one of each"), "{error}");
    }
}
