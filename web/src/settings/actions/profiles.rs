//! Profiles: settings under a name that several sessions share.

use std::rc::Rc;

use leptos::task::spawn_local;
use palimpsest_engine::{EngineError, Profile};
use palimpsest_text::sorted::SortedMap;

use crate::act::{Back, change, failed, list, note, show_all, tended, with_engine};
use crate::text::{T, fill};

/// Reads every profile there is, in its own time.
pub(crate) fn reload_profiles(back: Rc<Back>) {
    spawn_local(async move { load_profiles(&back).await });
}

/// Reads every profile there is.
pub(crate) async fn load_profiles(back: &Rc<Back>) {
    let names = match back.engine.profiles().await {
        Ok(names) => names,
        Err(error) => return failed(back, &error),
    };
    let mut found = SortedMap::new();
    for name in names {
        // one that another version wrote is none here
        if let Ok(Some(profile)) = back.engine.profile(&name).await {
            found.insert(name, profile);
        }
    }
    back.state.profiles.change(found);
}

/// Keeps the profiles of a file. An existing one with the same name stays. Returns the number of new ones.
pub(crate) async fn take_profiles(
    back: &Rc<Back>,
    profiles: SortedMap<String, Profile>,
) -> Result<u32, EngineError> {
    let mut new = 0;
    for (name, profile) in profiles {
        if back.engine.profile(&name).await?.is_none() {
            back.engine.save_profile(&name, &profile).await?;
            new += 1;
        }
    }
    load_profiles(back).await;
    Ok(new)
}

/// The open session, and new ones, take over the settings of a profile; without a name it keeps those it has.
pub(crate) fn use_profile(name: Option<String>) {
    with_engine(|back| async move { take(&back, name).await });
}

/// Keeps a profile under that name, and the open session takes it over.
pub(crate) fn save_profile(name: String, profile: Profile) {
    with_engine(|back| async move {
        if back.writer().is_none() {
            return;
        }
        if let Err(error) = back.engine.save_profile(&name, &profile).await {
            return failed(&back, &error);
        }
        load_profiles(&back).await;
        note(fill(T::ProfileSaved, &[&name]), false);
        take(&back, Some(name)).await;
    });
}

/// Forgets a profile. The sessions that used it keep their settings.
pub(crate) fn remove_profile(name: String) {
    with_engine(|back| async move {
        if back.writer().is_none() {
            return;
        }
        if let Err(error) = back.engine.remove_profile(&name).await {
            return failed(&back, &error);
        }
        load_profiles(&back).await;
        take(&back, None).await;
    });
}

async fn take(back: &Rc<Back>, name: Option<String>) {
    let Some(session) = back.writer() else {
        return;
    };
    match session.use_profile(name.as_deref()).await {
        Ok(()) => change(|s| s.profile = name.unwrap_or_default()),
        Err(error) => failed(back, &error),
    }
    show_all(back).await;
    list(back).await;
    tended(Rc::clone(back), session);
}
