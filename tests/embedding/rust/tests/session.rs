//! What is derived from a user and an id, as Python does it; SESSION_IDS is the file.

use pyadeq::{session_hash, session_partition_base, session_tag, session_tag_of};

#[test]
fn ids_and_bases_are_those_of_python() {
    let path = std::env::var("SESSION_IDS").unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    for line in text.lines().skip(1) {
        let row: Vec<&str> = line.split('\t').collect();
        let [realm, user, id, prefix, slot, tag, hash, tag_of, base] = row[..] else {
            panic!("{line}");
        };
        let slot = Some(slot).filter(|slot| !slot.is_empty());
        assert_eq!(session_tag(realm, user), tag, "{line}");
        assert_eq!(session_hash(realm, id), hash, "{line}");
        assert_eq!(session_tag_of(realm, id), tag_of, "{line}");
        assert_eq!(
            session_partition_base(realm, tag, prefix, slot).unwrap(),
            base
        );
        assert!(session_partition_base(realm, "a/b", prefix, slot).is_err());
    }
}
