// What a server holds, as the conformance vectors write it down.

/** @typedef {string | { base64: string }} Text */
/** @typedef {Record<string, any>} State by what follows the base */

/**
 * Bytes as a vector writes them.
 *
 * @param {Uint8Array | string} value
 * @returns {Text}
 */
export function text(value) {
  const bytes = Buffer.from(value);
  const decoded = bytes.toString();
  return bytes.equals(Buffer.from(decoded)) ? decoded : { base64: bytes.toString("base64") };
}

/**
 * What a vector writes, as it is sent.
 *
 * @param {any} value
 * @returns {any}
 */
export function bytes(value) {
  return value?.base64 === undefined ? value : Buffer.from(value.base64, "base64");
}

/**
 * @param {import("ioredis").Redis} server
 * @param {string} base
 * @param {State} state
 */
export async function restore(server, base, state) {
  for (const [suffix, { expires, ...held }] of Object.entries(state)) {
    const key = base + suffix;
    const [[type, value]] = /** @type {[[string, any]]} */ (Object.entries(held));
    for (const command of WRITE[type]?.(value) ?? []) {
      const [verb, ...words] = command;
      await server.call(verb, key, ...words.map(bytes));
    }
    if (expires) await server.expire(key, 3600);
  }
}

const LATER = 4e12; // ms: from then on a vector has the ids of a stream, as the pair `*`

/** @type {Record<string, (value: any) => [string, ...any[]][]>} */
const WRITE = {
  hash: (value) => [["HSET", ...Object.entries(value).flat()]],
  zset: (value) => [
    ["ZADD", ...value.flatMap((/** @type {[Text, string]} */ [member, score]) => [score, member])],
  ],
  set: (value) => [["SADD", ...value]],
  list: (value) => [["RPUSH", ...value]],
  string: (value) => [["SET", value]],
  stream: (value) =>
    value.map((/** @type {Text[][]} */ entry) => {
      const [[name, id] = []] = entry;
      return name === "*" ? ["XADD", id, ...entry.slice(1).flat()] : ["XADD", "*", ...entry.flat()];
    }),
};

/**
 * @param {import("ioredis").Redis} server
 * @param {string} base
 * @returns {Promise<State>}
 */
export async function dump(server, base) {
  /** @type {State} */
  const found = {};
  for (const key of (await server.keys("*")).sort()) {
    const type = await server.type(key);
    const [command, words, shown] = READ[type] ?? fail(type);
    const value = shown(await server.callBuffer(command, key, ...words));
    const held = { [type]: value };
    found[key.slice(base.length)] =
      (await server.pttl(key)) < 0 ? held : { ...held, expires: true };
  }
  return found;
}

/** @type {Record<string, [string, string[], (reply: any) => unknown]>} */
const READ = {
  hash: ["HGETALL", [], (reply) => Object.fromEntries(pairs(reply))],
  zset: ["ZRANGE", ["0", "-1", "WITHSCORES"], (reply) => pairs(reply)],
  set: ["SMEMBERS", [], (reply) => reply.map(text).sort()],
  list: ["LRANGE", ["0", "-1"], (reply) => reply.map(text)],
  string: ["GET", [], text],
  stream: [
    "XRANGE",
    ["-", "+"],
    (reply) =>
      reply.map((/** @type {[Buffer, Buffer[]]} */ [id, words]) =>
        parseInt(id.toString()) < LATER ? pairs(words) : [["*", text(id)], ...pairs(words)],
      ),
  ],
};

/** @param {Buffer[]} flat */
function pairs(flat) {
  return flat.flatMap((name, index) =>
    index % 2 === 0 ? [[text(name), text(flat[index + 1] ?? "")]] : [],
  );
}

/**
 * @param {string} type
 * @returns {never}
 */
function fail(type) {
  throw new TypeError(`no test reads a ${type}`);
}
