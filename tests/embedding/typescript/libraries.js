// The client libraries, each by the same few functions.
import { Cluster, Redis } from "ioredis";
import { ioredis } from "pyadeq/ioredis";
import { nodeRedis } from "pyadeq/node-redis";
import redis from "redis";

const { createClient, createCluster } = redis;

/**
 * @typedef {object} Opened
 * @property {import("pyadeq").Connection} connection
 * @property {() => unknown} close
 */

/** @type {Record<string, (url: string, cluster: boolean) => Promise<Opened>>} */
export const LIBRARIES = {
  async ioredis(url, cluster) {
    const { hostname, port } = new URL(url);
    const nodes = [{ host: hostname, port: Number(port) }];
    const client = cluster ? new Cluster(nodes) : new Redis(url);
    client.on("error", () => {});
    return { connection: ioredis(client), close: () => client.disconnect() };
  },

  async "node-redis"(url, cluster) {
    const client = cluster ? createCluster({ rootNodes: [{ url }] }) : createClient({ url });
    client.on("error", () => {});
    await client.connect();
    return { connection: nodeRedis(client), close: () => client.destroy() };
  },
};
