//! Maps from TOML: parsing, and checks that a map is fair and that every position in it is reachable.

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::values::{Decimal, Title, Whole};
use super::{DataError, Source};
use sim::{Map, MapCircle, MilliPoint, OBSTACLES_MAX, PLAYERS_MAX, Rock, Wall, Ways};

/// Largest body and largest core that rules may have, in thousandths of a tile: both must have paths across every
/// map.
const WIDEST: (i32, i32) = (1_000, 4_000);
/// Minimum distance of a base from walls and rocks, in thousandths of a tile: its units spawn there.
const BASE_CLEAR: i32 = 5_000;

type Coordinate = Decimal<-64_000, 64_000>;
type PointFile = (Coordinate, Coordinate);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MapFile {
    name: Title,
    size: (Decimal<16_000, 128_000>, Decimal<16_000, 128_000>),
    bases: Spanned<Vec<PointFile>>,
    circles: Spanned<Vec<CircleFile>>,
    #[serde(default)]
    walls: Vec<Spanned<WallFile>>,
    #[serde(default)]
    rocks: Vec<Spanned<RockFile>>,
}

/// A circle: its centre alone, or a table that says what it gives, too.
struct CircleFile(MapCircle);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CircleTable {
    at: PointFile,
    #[serde(default = "CircleTable::usual_score")]
    score: Whole<0, 100>,
    #[serde(default = "CircleTable::usual_supply")]
    supply: Whole<0, 6_000>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WallFile {
    min: PointFile,
    max: PointFile,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RockFile {
    at: PointFile,
    radius: Decimal<300, 8_000>,
}

impl CircleTable {
    const fn usual_score() -> Whole<0, 100> {
        Whole(1)
    }

    const fn usual_supply() -> Whole<0, 6_000> {
        Whole(0)
    }
}

impl<'de> Deserialize<'de> for CircleFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = CircleFile;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a place, [x, y], or a table with `at`, `score` and `supply`")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<CircleFile, A::Error> {
                let place = PointFile::deserialize(SeqAccessDeserializer::new(seq))?;
                Ok(CircleFile(MapCircle::plain(point(&place))))
            }
            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<CircleFile, A::Error> {
                let CircleTable { at, score, supply } =
                    CircleTable::deserialize(MapAccessDeserializer::new(table))?;
                Ok(CircleFile(MapCircle { at: point(&at), score: score.into(), supply: supply.into() }))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

pub(super) fn parse_map(source: &Source<'_>) -> Result<Map, DataError> {
    let file: MapFile = source.parse()?;
    let points = |points: &Spanned<Vec<PointFile>>| points.get_ref().iter().map(point).collect::<Vec<_>>();
    let starts = |spans: Vec<usize>| move |row: usize| spans.get(row).copied().unwrap_or(0);
    let (bases_at, circles_at) = (file.bases.span().start, file.circles.span().start);
    let wall_at = starts(file.walls.iter().map(|wall| wall.span().start).collect());
    let rock_at = starts(file.rocks.iter().map(|rock| rock.span().start).collect());
    let map = Map {
        name: file.name.into(),
        size: (file.size.0.0, file.size.1.0),
        bases: points(&file.bases),
        circles: file.circles.get_ref().iter().map(|circle| circle.0).collect(),
        walls: file.walls.iter().map(Spanned::get_ref).map(wall).collect(),
        rocks: file.rocks.iter().map(Spanned::get_ref).map(rock).collect(),
    };
    for (row, at) in [(map.walls.len(), wall_at(OBSTACLES_MAX)), (map.rocks.len(), rock_at(OBSTACLES_MAX))] {
        if row > OBSTACLES_MAX {
            return Err(source.invalid(at, format_args!("more than {OBSTACLES_MAX} of them")));
        }
    }
    check_places(source, &map, bases_at, circles_at)?;
    for (row, wall) in map.walls.iter().enumerate() {
        check_wall(&map, wall).map_err(|message| source.invalid(wall_at(row), message))?;
    }
    for (row, rock) in map.rocks.iter().enumerate() {
        check_rock(&map, rock).map_err(|message| source.invalid(rock_at(row), message))?;
    }
    check_ways(&map)
        .map_err(|(bases, message)| source.invalid(if bases { bases_at } else { circles_at }, message))?;
    Ok(map)
}

fn point((x, y): &PointFile) -> MilliPoint {
    (x.0, y.0)
}

fn wall(file: &WallFile) -> Wall {
    Wall { min: point(&file.min), max: point(&file.max) }
}

fn rock(file: &RockFile) -> Rock {
    Rock { at: point(&file.at), radius: file.radius.0 }
}

fn check_places(source: &Source<'_>, map: &Map, bases_at: usize, circles_at: usize) -> Result<(), DataError> {
    if ![2, PLAYERS_MAX].contains(&map.bases.len()) {
        return Err(source.invalid(bases_at, "a map has 2 or 4 bases"));
    }
    if !(1..=sim::CIRCLES_MAX).contains(&map.circles.len()) {
        return Err(source.invalid(circles_at, "a map has 1 to 8 circles"));
    }
    let turned = |places: &[MilliPoint]| places.iter().all(|&place| places.contains(&turn(map, place)));
    if map.bases.len() == PLAYERS_MAX && map.size.0 != map.size.1 {
        return Err(source.invalid(bases_at, "a map of four bases is square"));
    }
    let faces = |bases: &[MilliPoint]| matches!(bases, [a, b, ..] if *b == half_turn(*a));
    if !turned(&map.bases) || !faces(&map.bases) {
        return Err(source.invalid(bases_at, "the bases are not rotationally symmetric"));
    }
    let turned_circle = |circle: &MapCircle| MapCircle { at: turn(map, circle.at), ..*circle };
    if !map.circles.iter().all(|circle| map.circles.contains(&turned_circle(circle))) {
        return Err(
            source.invalid(circles_at, "the circles and what they give are not rotationally symmetric")
        );
    }
    if !map.bases.iter().all(|&base| is_inside(map, base, BASE_CLEAR)) {
        return Err(source.invalid(bases_at, "a base is less than 5 tiles from the edge"));
    }
    if !map.circles.iter().all(|circle| is_inside(map, circle.at, 1_000)) {
        return Err(source.invalid(circles_at, "a circle is less than a tile from the edge"));
    }
    Ok(())
}

/// Rotates a point by the smallest angle that must map the map onto itself: half a turn, or a quarter for four bases.
fn turn(map: &Map, (x, y): MilliPoint) -> MilliPoint {
    if map.bases.len() == 2 { half_turn((x, y)) } else { (y.saturating_neg(), x) }
}

const fn half_turn((x, y): MilliPoint) -> MilliPoint {
    (x.saturating_neg(), y.saturating_neg())
}

fn is_inside(map: &Map, (x, y): MilliPoint, margin: i32) -> bool {
    let fits = |at: i32, size: i32| at.saturating_abs().saturating_add(margin) <= size / 2;
    fits(x, map.size.0) && fits(y, map.size.1)
}

fn check_wall(map: &Map, wall: &Wall) -> Result<(), &'static str> {
    let (min, max) = (wall.min, wall.max);
    if max.0.saturating_sub(min.0) < 1_000 || max.1.saturating_sub(min.1) < 1_000 {
        return Err("a wall must be at least a tile wide and high, so that no arrow skips it");
    }
    if !is_inside(map, min, 0) || !is_inside(map, max, 0) {
        return Err("the wall extends beyond the map");
    }
    let (a, b) = (turn(map, min), turn(map, max));
    let twin = Wall { min: (a.0.min(b.0), a.1.min(b.1)), max: (a.0.max(b.0), a.1.max(b.1)) };
    if !map.walls.contains(&twin) {
        return Err("the wall has no counterpart in the map's rotation");
    }
    let nearest = |at: MilliPoint| (at.0.clamp(min.0, max.0), at.1.clamp(min.1, max.1));
    check_clear(map, 0, nearest)
}

fn check_rock(map: &Map, rock: &Rock) -> Result<(), &'static str> {
    if !is_inside(map, rock.at, 0) {
        return Err("the rock is not on the map");
    }
    if !map.rocks.contains(&Rock { at: turn(map, rock.at), radius: rock.radius }) {
        return Err("the rock has no counterpart in the map's rotation");
    }
    check_clear(map, rock.radius, |_| rock.at)
}

/// Checks that bases and circle centres are clear of an obstacle, given its point nearest to each as `nearest`.
fn check_clear(
    map: &Map,
    radius: i32,
    nearest: impl Fn(MilliPoint) -> MilliPoint,
) -> Result<(), &'static str> {
    let is_clear = |at: MilliPoint, by: i32| {
        let to = nearest(at);
        let square = |of: i32| i64::from(of).saturating_mul(of.into());
        let (dx, dy) = (at.0.saturating_sub(to.0), at.1.saturating_sub(to.1));
        square(dx).saturating_add(square(dy)) >= square(radius.saturating_add(by))
    };
    if !map.bases.iter().all(|&base| is_clear(base, BASE_CLEAR)) {
        return Err("less than 5 tiles from a base");
    }
    if !map.circles.iter().all(|circle| is_clear(circle.at, 1_000)) {
        return Err("less than a tile from the middle of a circle");
    }
    Ok(())
}

/// Checks that all bases and circles are reachable from the first base; the map's symmetry covers the rest. The flag
/// of the error is true if a base is unreachable.
fn check_ways(map: &Map) -> Result<(), (bool, String)> {
    let Some(&first) = map.bases.first() else { return Ok(()) };
    let ways = Ways::new(map, WIDEST.0, WIDEST.1);
    let bases = map.bases.iter().map(|base| (true, base));
    let circles = map.circles.iter().map(|circle| (false, &circle.at));
    for (is_base, &(x, y)) in bases.chain(circles) {
        if ways.way(first, (x, y)).is_none() {
            let place = format!("[{}, {}]", f64::from(x) / 1000.0, f64::from(y) / 1000.0);
            return Err((
                is_base,
                format!("there is no path for a body two tiles wide from the first base to {place}"),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::MAPS;
    use super::*;

    const STANDARD_MAP: &str = MAPS[0].1;
    const QUAD_MAP: &str = MAPS[2].1;

    fn map_error(map: &str, from: &str, to: &str) -> String {
        assert!(map.contains(from), "{from}");
        let text = map.replacen(from, to, 1);
        parse_map(&Source { file: "m.toml", text: &text }).expect_err(to).to_string()
    }

    #[test]
    fn the_reference_has_every_key_of_maps() {
        let reference = include_str!("../../../docs/REFERENCE.md");
        let table =
            reference.split("| map key | values | meaning |\n|---|---|---|\n").nth(1).expect("a table");
        let rows = table.lines().take_while(|line| line.starts_with('|'));
        let keys: Vec<_> =
            rows.filter_map(|row| row.split('`').nth(1)).map(|key| format!("`{key}`")).collect();
        let error = toml::from_str::<MapFile>("other = 1").err().expect("no key");
        assert!(error.message().ends_with(&format!("expected one of {}", keys.join(", "))), "{error}");
    }

    #[test]
    fn maps_that_favour_a_side_or_overflow_are_refused() {
        for (from, to, why) in [
            ("[64, 36]", "[130, 36]", "not from 16 to 128"),
            ("[27, 0]", "[26, 0]", "not rotationally symmetric"),
            ("[[-27, 0], [27, 0]]", "[[-27, 0]]", "2 or 4 bases"),
            ("at = [0, 0]", "at = [0, 1]", "not rotationally symmetric"),
            ("12.5], supply = 2", "12.5], supply = 3", "not rotationally symmetric"),
            ("score = 2", "score = 101", "101 is not from 0 to 100"),
            ("score = 2", "worth = 2", "unknown key"),
            ("{ at = [0, 0], score = 2 }", "2", "a place, [x, y], or a table"),
            ("min = [-1, 4]", "min = [-2, 4]", "no counterpart"),
            ("min = [-1, 4]", "min = [0.5, 4]", "at least a tile"),
            ("at = [14, -5]", "at = [14, -6]", "no counterpart"),
            ("at = [-14, 5]", "at = [-33, 5]", "not on the map"),
            ("name = ", "x = 1\nname = ", "unknown key"),
        ] {
            let error = map_error(STANDARD_MAP, from, to);
            assert!(error.contains(why), "{to}: {error}");
        }
    }

    #[test]
    fn a_circle_without_a_table_gives_a_point_a_second() {
        let circles = |list: &str| {
            let text = STANDARD_MAP.lines().map(|line| {
                if line.starts_with("circles = ") {
                    format!("circles = {list}\n")
                } else {
                    format!("{line}\n")
                }
            });
            let text = text.collect::<String>();
            parse_map(&Source { file: "map", text: &text }).map(|map| map.circles)
        };
        let plain = |at| MapCircle { at, score: 1, supply: 0 };
        let mixed = circles("[[0, 0], { at = [-9, 12.5] }, { at = [9, -12.5] }]").expect("a map");
        assert_eq!(mixed, [plain((0, 0)), plain((-9_000, 12_500)), plain((9_000, -12_500))]);
        let given = circles("[{ at = [0, 0], score = 3, supply = 4 }]").expect("a map");
        assert_eq!(given, [MapCircle { at: (0, 0), score: 3, supply: 4 }]);
        assert!(circles("[]").is_err_and(|error| error.to_string().contains("1 to 8 circles")));
    }

    #[test]
    fn a_map_for_four_has_quarter_turn_symmetry() {
        for (from, to, why) in [
            ("[96, 96]", "[96, 100]", "square"),
            ("[0, 38]", "[0, 39]", "not rotationally symmetric"),
            ("[[38, 0], [-38, 0], [0, 38]", "[[38, 0], [0, 38], [-38, 0]", "not rotationally symmetric"),
            ("[-16, 22]", "[-22, 16]", "not rotationally symmetric"),
            ("min = [-12, 10]", "min = [-12, 9]", "no counterpart"),
            ("at = [1.5, 17]", "at = [2.5, 17]", "no counterpart"),
        ] {
            let error = map_error(QUAD_MAP, from, to);
            assert!(error.contains(why), "{to}: {error}");
        }
    }

    #[test]
    fn a_disconnected_map_is_refused() {
        let wall = |min: &str, max: &str| format!("[[walls]]\nmin = [{min}]\nmax = [{max}]\n");
        let line = |start: &str| {
            let lines = STANDARD_MAP.lines();
            lines.take_while(|line| !line.starts_with(start)).count() + 1
        };
        for (walls, refused) in [
            // A gate of six tiles in the middle.
            (wall("-1, 3", "1, 18") + &wall("-1, -18", "1, -3"), None),
            // One too narrow for the widest body.
            (
                wall("-8, -18", "-7, -0.95")
                    + &wall("-8, 0.95", "-7, 18")
                    + &wall("7, -18", "8, -0.95")
                    + &wall("7, 0.95", "8, 18"),
                Some("bases"),
            ),
            // None.
            (wall("-8, -18", "-7, 18") + &wall("7, -18", "8, 18"), Some("bases")),
            // A circle walled in.
            (
                wall("-14, 8", "-6, 9")
                    + &wall("-14, 16", "-6, 17")
                    + &wall("-15, 8", "-14, 17")
                    + &wall("-6, 8", "-5, 17")
                    + &wall("6, -9", "14, -8")
                    + &wall("6, -17", "14, -16")
                    + &wall("14, -17", "15, -8")
                    + &wall("5, -17", "6, -8"),
                Some("circles"),
            ),
        ] {
            let head = STANDARD_MAP.split("# Two short walls").next().expect("the head");
            let text = format!("{head}{walls}");
            let result = parse_map(&Source { file: "m.toml", text: &text });
            match refused {
                None => assert!(result.is_ok(), "{walls}: {result:?}"),
                Some(field) => {
                    let error = result.expect_err(&walls).to_string();
                    let start = format!("m.toml:{}: {field}: there is no path for a body", line(field));
                    assert!(error.starts_with(&start), "{walls}: {error}");
                }
            }
        }
    }
}
