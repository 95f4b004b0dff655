//! Which partition a subject has, as Python computes it; RATE_TAGS is the file.

use pyadeq::{rate_partition_base, rate_tag};

#[test]
fn tags_and_bases_are_those_of_python() {
    let path = std::env::var("RATE_TAGS").unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    for line in text.lines().skip(1) {
        let row: Vec<&str> = line.split('\t').collect();
        let [subject, partitions, namespace, prefix, slot, tag, base] = row[..] else {
            panic!("{line}");
        };
        let slot = Some(slot).filter(|slot| !slot.is_empty());
        let partitions = partitions.parse().unwrap();
        assert_eq!(rate_tag(subject, partitions).unwrap(), tag, "{line}");
        assert_eq!(
            rate_partition_base(namespace, tag, prefix, slot).unwrap(),
            base
        );
        assert!(rate_partition_base(namespace, "a/b", prefix, slot).is_err());
    }
    assert!(rate_tag("a", 0).is_err());
    assert!(rate_tag("a", 1025).is_err());
}
