// Replays the conformance vectors: node replay.js LIBRARY URL FOLDER [--cluster]
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { Redis } from "ioredis";
import { Adeq, ScriptError } from "pyadeq";
import { LIBRARIES } from "./libraries.js";
import { bytes, dump, restore, text } from "./state.js";

const [library = "", url = "", folder = "", cluster] = process.argv.slice(2);
const { scripts, nouns } = JSON.parse(await readFile(`${folder}/../manifest.json`, "utf8"));

// A call's words and its raw reply, as they were on the wire.
/** @type {{ keys: string[], argv: any[], reply: any }} */
let wire = { keys: [], argv: [], reply: undefined };

const server = new Redis(url, { protocol: 2 });
const opened = (await LIBRARIES[library]?.(url, cluster === "--cluster")) ?? process.exit(2);
const { connection } = opened;
/** @type {import("pyadeq").Connection} */
const watched = {
  closed: false,
  losses: 0,
  load: (texts) => connection.load(texts),
  refusal: (error) => connection.refusal(error),
  async evalsha(command, sha1, keys, argv) {
    wire = { keys, argv, reply: undefined };
    wire.reply = await connection.evalsha(command, sha1, keys, argv);
    return wire.reply;
  },
};
const adeq = new Adeq(watched);

let passed = 0;
let failed = 0;
for (const script of scripts) {
  const file = JSON.parse(await readFile(`${folder}/${script.id}.json`, "utf8"));
  assert.equal(file.script, script.id);
  for (const vector of file.vectors) {
    try {
      await replay(script, vector);
      passed += 1;
    } catch (error) {
      failed += 1;
      console.log(`${library}: ${script.id}: ${vector.name}: ${error}`);
    }
  }
}
for (const name of await readdir(`${folder}/stories`)) {
  const story = JSON.parse(await readFile(`${folder}/stories/${name}`, "utf8"));
  try {
    await tell(story);
    passed += 1;
  } catch (error) {
    failed += 1;
    console.log(`${library}: ${name}: ${error}`);
  }
}
const files = (await readdir(folder)).filter((name) => name.endsWith(".json"));
if (files.length !== scripts.length) failed += 1;
console.log(`${library}: ${passed} passed, ${failed} failed`);
server.disconnect();
opened.close();
process.exitCode = failed > 0 ? 1 : 0;

/**
 * @param {any} script
 * @param {any} vector
 */
async function replay(script, vector) {
  const noun = nounOf(script.noun);
  await server.flushall();
  await restore(server, noun.base, vector.before);
  if (vector.memory === "full") await fill(1);
  try {
    await step(noun, script, vector);
  } finally {
    await fill(0);
  }
  await checkState(noun, vector);
}

/**
 * Calls that follow each other on one state.
 *
 * @param {any} story
 */
async function tell(story) {
  const noun = nounOf(story.noun);
  await server.flushall();
  await restore(server, noun.base, story.before);
  for (const one of story.steps) {
    const script = scripts.find((/** @type {any} */ { id }) => id === one.script);
    await step(noun, script, one);
  }
  await checkState(noun, story);
}

/**
 * @param {any} noun
 * @param {any} script
 * @param {any} vector
 */
async function step(noun, script, vector) {
  const [answer, error] = await outcome(noun, script, vector.call);
  assert.deepEqual(wire.argv.map(text), vector.argv);
  const { base } = noun;
  const keys = script.keys.map((/** @type {any} */ key) =>
    key.template.replace("{base}", base).replace(`{${key.noun}}`, `${base}!none`),
  );
  assert.deepEqual(wire.keys, keys);
  assert.equal(error, vector.error);
  if (error === undefined) {
    const expected = ordered(script, script.returns, vector.answer);
    assert.deepEqual(ordered(script, script.returns, shown(wire.reply)), expected);
    assert.deepEqual(ordered(script, script.returns, shown(answer)), expected);
  }
}

/**
 * @param {any} noun
 * @param {any} vector
 */
async function checkState(noun, { before, after }) {
  const expected = { ...before, ...after };
  for (const [key, value] of Object.entries(expected)) if (value === null) delete expected[key];
  assert.deepEqual(await dump(server, noun.base), expected);
}

/** @param {string} noun */
function nounOf(noun) {
  if (noun === "events") return adeq.events("queue", "conformance");
  return /** @type {any} */ (adeq)[nouns[noun].method]("conformance");
}

/**
 * A typed call, and its answer or the words of its error.
 *
 * @param {any} noun
 * @param {any} script
 * @param {any} call
 */
async function outcome(noun, script, call) {
  const groups = Object.entries(call.groups ?? {}).map(([name, items]) => [
    name === "item" ? "items" : camel(name),
    items.map(typed),
  ]);
  try {
    const args = { ...typed(call.args), ...Object.fromEntries(groups) };
    const given = script.uses ? [{}, args] : [args]; // other nouns are in other slots
    return [await noun[camel(script.verb)](...given), undefined];
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error;
    assert.equal(error.name, `${camel(error.code.slice(4).toLowerCase())}Error`);
    return [undefined, `${error.code} ${error.text}`];
  }
}

/** @param {Record<string, any>} values */
function typed(values) {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [camel(name), bytes(value)]),
  );
}

/**
 * An answer in the form of the wire: a status, then the fields in their order.
 *
 * @param {any} value
 * @returns {any}
 */
function shown(value) {
  if (typeof value === "number") return value;
  if (typeof value === "string" || Buffer.isBuffer(value)) return text(value);
  if (value instanceof Map) return [...value].flat().map(text);
  return (Array.isArray(value) ? value : Object.values(value)).map(shown);
}

/**
 * The same answer with its pairs by name: their order is another on each engine.
 *
 * @param {any} script
 * @param {any[]} statuses
 * @param {any[]} answer
 * @returns {any[]}
 */
function ordered(script, statuses, [status, ...values]) {
  const fields = statuses.find((one) => one.status === status)?.fields ?? [];
  const known = values.map((value, index) => {
    const { type, of } = fields[index] ?? {};
    if (type === "list") {
      return value.map((/** @type {any[]} */ entry) => ordered(script, script.shapes[of], entry));
    }
    if (type !== "pairs") return value;
    const couples = value.flatMap((/** @type {any} */ name, /** @type {number} */ at) =>
      at % 2 === 0 ? [[name, value[at + 1]]] : [],
    );
    return couples.sort((/** @type {any[]} */ [a], /** @type {any[]} */ [b]) => (a < b ? -1 : 1));
  });
  return [status, ...known];
}

/** @param {string} name */
function camel(name) {
  return name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
}

/** @param {number} most bytes of memory; 0 is no bound */
async function fill(most) {
  await server.config("SET", "maxmemory-policy", "noeviction");
  await server.config("SET", "maxmemory", most);
}
