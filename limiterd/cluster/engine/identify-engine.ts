/**
 * Identifies the engine's data: the epoch changes when the engine was emptied or restarted, or when
 * another server has taken over.
 */
import type { EngineClient } from "./engine-client.js";
import { EngineFault, refusesWrites } from "./engine-faults.js";
import { readInfo } from "./examine-engine.js";

interface EngineIds {
  readonly clusterName: string;
  readonly newId: () => string;
  /** The replication id of each server, as last reported. */
  readonly knownIds: ReadonlyMap<string, string>;
}

interface Identity {
  readonly epoch: string;
  readonly replicationIds: ReadonlyMap<string, string>;
  /** Servers of a Cluster that don't answer, by their addresses. */
  readonly serversAway: readonly string[];
}

/** Rejects if the engine doesn't answer, or is a replica. */
export async function identifyEngine(
  client: EngineClient,
  { clusterName, newId, knownIds }: EngineIds,
): Promise<Identity> {
  const key = `sluice:{${clusterName}}:epoch`;
  const [answered, { replicationIds, serversAway }] = await Promise.all([
    client.send("GET", [key]).catch((error: unknown) => {
      // The key has a value of another type, which is overwritten.
      if (String(error).includes("WRONGTYPE")) return undefined;
      throw error;
    }),
    idsOf(client, knownIds),
  ]);
  let epoch = answered;
  if (epoch === null) {
    // The first of several hosts sets the epoch.
    await client.send("SET", [key, newId(), "NX"]);
    epoch = await client.send("GET", [key]);
  } else if (!isText(epoch)) {
    await client.send("SET", [key, newId()]);
    epoch = await client.send("GET", [key]);
  }
  const ids = [...replicationIds.values()].sort();
  if (![epoch, ...ids].every(isText))
    throw new EngineFault("what the engine says of itself isn't understood");
  return { epoch: [epoch, ...ids].join(" "), replicationIds, serversAway };
}

/** Ids are random, and of some forty characters. */
function isText(value: unknown): boolean {
  return typeof value === "string" && value.length <= 100;
}

/** Whether an engine that has refused a write takes writes again. */
export async function takesWrites(client: EngineClient, clusterName: string): Promise<boolean> {
  try {
    await client.send("SET", [`sluice:{${clusterName}}:tryout`, "1", "PX", 1000]);
    return true;
  } catch (error) {
    if (refusesWrites(error)) return false;
    throw error;
  }
}

async function idsOf(
  client: EngineClient,
  knownIds: ReadonlyMap<string, string>,
): Promise<Pick<Identity, "replicationIds" | "serversAway">> {
  const servers = [...client.primaries()];
  const answered = await Promise.allSettled(
    servers.map(([, send]) => send("INFO", ["replication"])),
  );
  const failed = answered.find((result) => result.status === "rejected");
  if (failed !== undefined && answered.every((result) => result.status === "rejected"))
    throw failed.reason;
  const serversAway = servers.flatMap(([address], i) =>
    answered[i]!.status === "rejected" ? [address] : [],
  );
  const replicationIds = new Map(
    servers.map(([address], i) => {
      const result = answered[i]!;
      // A Cluster's server that is away keeps its last id until it or its replacement answers.
      if (result.status === "rejected") return [address, knownIds.get(address) ?? ""];
      const info = readInfo(result.value);
      if (info.get("role") !== "master") throw new Error("READONLY a replica");
      return [address, info.get("master_replid") ?? ""];
    }),
  );
  return { replicationIds, serversAway };
}
