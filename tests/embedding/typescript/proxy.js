// A network that fails.
import { connect, createServer } from "node:net";

/**
 * A way to the server that, once armed, loses the answers that `lose` says.
 *
 * @param {string} url
 * @param {() => boolean} [lose]
 */
export async function proxied(url, lose = () => false) {
  const { hostname, port } = new URL(url);
  /** @type {Set<{ silent: boolean, blocks: boolean, end: () => void }>} */
  const links = new Set();
  const state = {
    armed: false,
    url: "",
    /** Nothing passes any more on what is connected now. */
    silence: () => links.forEach((link) => (link.silent = true)),
    /** The same where somebody waits. */
    silenceBlocking: () => links.forEach((link) => (link.silent ||= link.blocks)),
    cut: () => links.forEach((link) => link.end()),
    close: () => {
      proxy.close();
      state.cut();
    },
  };
  const proxy = createServer((near) => {
    const far = connect(Number(port), hostname);
    const link = { silent: false, blocks: false, end: () => near.destroy() };
    links.add(link);
    for (const socket of [near, far]) socket.on("error", () => {});
    near.on("close", () => {
      far.destroy();
      links.delete(link);
    });
    far.on("close", () => near.destroy());
    let asked = false;
    near.on("data", (data) => {
      link.blocks = data.includes("blpop");
      asked ||= state.armed && data.includes("EVALSHA");
      if (!link.silent) far.write(data);
    });
    far.on("data", (data) => {
      if (asked && lose()) near.destroy();
      else if (!link.silent) near.write(data);
    });
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", () => resolve(undefined)));
  const address = /** @type {import("node:net").AddressInfo} */ (proxy.address());
  state.url = `redis://127.0.0.1:${address.port}`;
  return state;
}
