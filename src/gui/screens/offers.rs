//! Rules or maps to choose from: the built-in ones, and the files in a folder of the user.

use egui_macroquad::egui::{Rect, vec2};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::gui::page::{Page, Weight};
use game::data::{self, DataError};
use sim::{Map, Rules};

/// Maximum number of files that are read; the list says how many more there are.
const FILES_MAX: usize = 100;
/// Most offers that stand side by side; more are leafed through.
const ABREAST: usize = 3;

/// List of what may be chosen.
pub(super) struct Offers<T> {
    pub(super) all: Vec<Offer<T>>,
    /// Number of files beyond [`FILES_MAX`].
    unread: usize,
}

/// Rules or a map.
pub(super) struct Offer<T> {
    /// Name, or that of a file that cannot be used.
    name: String,
    /// Built-in name, or path.
    pub(super) source: PathBuf,
    /// The data, or why the file cannot be used.
    pub(super) loaded: Result<Arc<T>, String>,
}

impl Offers<Map> {
    /// Lists the built-in maps, the default for two players first, then those in this folder.
    pub(super) fn of_maps(folder: Option<&Path>) -> Self {
        let mut maps: Vec<_> = data::embedded_maps().collect();
        maps.sort_by_key(|map| map.name != "standard");
        let built_in = maps.into_iter().map(|map| (map.name.clone(), map));
        Self::new(built_in, folder, |path| data::map(path).map(|map| (map.name.clone(), map)))
    }
}

impl Offers<Rules> {
    /// Lists the built-in rules, then those in this folder.
    pub(super) fn of_rules(folder: Option<&Path>) -> Self {
        let built_in = data::embedded_rules().map(|rules| (rules.name.clone(), rules));
        Self::new(built_in, folder, |path| data::rules(path).map(|rules| (rules.name.clone(), rules)))
    }
}

impl<T> Offers<T> {
    fn new(
        built_in: impl Iterator<Item = (String, Arc<T>)>,
        folder: Option<&Path>,
        load: impl Fn(&Path) -> Result<(String, Arc<T>), DataError>,
    ) -> Self {
        let mut all: Vec<_> = built_in
            .map(|(name, data)| Offer { source: name.clone().into(), name, loaded: Ok(data) })
            .collect();
        let mut files = folder.map(usable_files).unwrap_or_default();
        let unread = files.len().saturating_sub(FILES_MAX);
        files.truncate(FILES_MAX);
        all.extend(files.into_iter().map(|source| {
            let file = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match load(&source) {
                Ok((name, data)) => Offer { name, source, loaded: Ok(data) },
                Err(error) => {
                    // The file is named already, and the folder is always the same.
                    let path = source.display().to_string();
                    let why = error.to_string().replacen(&path, &file, 1);
                    Offer { name: file, source, loaded: Err(why) }
                }
            }
        }));
        Self { all, unread }
    }

    /// Returns the heading of the list: this word, and how many files are left out.
    pub(super) fn heading(&self, what: &str) -> String {
        match self.unread {
            0 => what.to_owned(),
            unread => format!("{what}; {unread} more files: only the first {FILES_MAX} are listed"),
        }
    }
}

/// Lists the TOML files and the recordings of a folder, sorted by name.
fn usable_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_usable =
        |path: &PathBuf| path.extension().is_some_and(|it| it == "toml" || it == replay::EXTENSION);
    let mut files: Vec<_> = entries.filter(is_usable).collect();
    files.sort();
    files
}

/// Draws the offers: side by side if they are few, else one, with buttons to the one before and after. Those that cannot
/// be used are greyed.
pub(super) fn choose<T>(
    page: &mut Page<'_>,
    name: &str,
    row: Rect,
    offers: &[&Offer<T>],
    chosen: &mut usize,
) {
    *chosen = (*chosen).min(offers.len().saturating_sub(1));
    if offers.len() <= ABREAST && offers.iter().all(|offer| offer.loaded.is_ok()) {
        let names: Vec<(&str, usize)> = offers.iter().map(|offer| &*offer.name).zip(0..).collect();
        let width = (row.width() / ABREAST as f32) * names.len() as f32;
        page.choice(name, row.with_max_x(row.left() + width), &names, chosen);
        return;
    }
    let side = vec2(row.height(), row.height());
    let (before, after) =
        (Rect::from_min_size(row.min, side), Rect::from_min_size(row.right_top() - vec2(side.x, 0.0), side));
    let count = offers.len();
    if page.button(&format!("{name} before"), before, "<", Weight::Normal) {
        *chosen = (*chosen + count - 1) % count;
    }
    if page.button(&format!("{name} after"), after, ">", Weight::Normal) {
        *chosen = (*chosen + 1) % count;
    }
    let Some(offer) = offers.get(*chosen) else { return };
    let middle = row.with_min_x(before.right() + 8.0).with_max_x(after.left() - 8.0);
    let (named, place) = (format!("{name} chosen"), format!("{} of {count}", *chosen + 1));
    match offer.loaded {
        Ok(_) => {
            page.button(&named, middle, &format!("{} ({place})", offer.name), Weight::Chosen);
        }
        Err(_) => page.barred(&named, middle, &offer.name, &place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_sorted_broken_ones_keep_their_reason_and_those_beyond_the_most_are_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = include_str!("../../../assets/maps/duel.toml");
        for n in (0..FILES_MAX + 3).rev() {
            let name = format!("map-{n:03}");
            let text = text.replacen("name = \"duel\"", &format!("name = \"{name}\""), 1);
            std::fs::write(folder.path().join(name).with_extension("toml"), text).expect("written");
        }
        std::fs::write(folder.path().join("a-broken.toml"), "name = 5").expect("written");
        std::fs::write(folder.path().join("b-notes.txt"), "not a map").expect("written");
        std::fs::write(folder.path().join("c-duel.toml"), text.replacen("size", "# size", 1))
            .expect("written");
        let offers = Offers::of_maps(Some(folder.path()));
        let names: Vec<&str> = offers.all.iter().map(|offer| &*offer.name).collect();
        assert_eq!(names[..6], ["standard", "duel", "quad", "a-broken.toml", "c-duel.toml", "map-000"]);
        let broken = |at: usize| offers.all[at].loaded.as_ref().expect_err("broken").clone();
        assert!(
            broken(3).starts_with("a-broken.toml:1: name: ") && broken(4).contains("size"),
            "{}",
            broken(4)
        );
        assert_eq!((names.last(), offers.unread), (Some(&"map-097"), 5));
        assert_eq!(Offers::of_rules(None).all.len(), 2);
    }
}
