// What is derived from a user and an id, as Python does it: node --test, with SESSION_IDS in the environment.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  Adeq,
  ConfigError,
  Session,
  sessionHash,
  sessionPartitionBase,
  sessionTag,
  sessionTagOf,
} from "pyadeq";

const [, ...lines] = readFileSync(process.env.SESSION_IDS ?? "", "utf8")
  .trimEnd()
  .split("\n");

for (const [number, line] of lines.entries()) {
  test(`line ${number}`, () => {
    const [realm = "", user = "", id = "", prefix, slot, tag = "", hash, tagOf, base] =
      line.split("\t");
    assert.equal(sessionTag(realm, user), tag);
    assert.equal(sessionHash(realm, id), hash);
    assert.equal(sessionTagOf(realm, id), tagOf);
    assert.equal(sessionPartitionBase(realm, tag, { prefix, slot: slot || undefined }), base);
  });
}

test("a partition is a realm to its scripts", () => {
  const adeq = new Adeq({});
  assert.equal(
    new Session(adeq.caller, sessionPartitionBase("web", "c7")).base,
    "ade:{session:web/c7}",
  );
  assert.throws(() => sessionPartitionBase("web", "a/b"), ConfigError);
});
