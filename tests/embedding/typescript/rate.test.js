// Which partition a subject has, as Python computes it: node --test, with RATE_TAGS in the environment.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Adeq, ConfigError, Rate, ratePartitionBase, rateTag } from "pyadeq";

const [, ...lines] = readFileSync(process.env.RATE_TAGS ?? "", "utf8")
  .trimEnd()
  .split("\n");

for (const [number, line] of lines.entries()) {
  test(`line ${number}`, () => {
    const [subject = "", partitions, namespace = "", prefix, slot, tag = "", base] =
      line.split("\t");
    assert.equal(rateTag(subject, Number(partitions)), tag);
    assert.equal(ratePartitionBase(namespace, tag, { prefix, slot: slot || undefined }), base);
  });
}

test("a partition is a namespace to its scripts", () => {
  const base = ratePartitionBase("api", rateTag("user:7", 16));
  assert.equal(new Rate(new Adeq({}).caller, base).base, "ade:{rate:api/12-of-16}");
  assert.throws(() => ratePartitionBase("api", "a/b"), ConfigError);
  for (const wrong of [0, 1025, 1.5, Number.NaN]) {
    assert.throws(() => rateTag("a", wrong), ConfigError);
  }
});
