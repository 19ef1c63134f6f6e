/** One attempt to reach the engine: a connection that was examined, and of a Cluster one to all. */
import type { ClientOptions, EngineClient, OpenClient } from "./engine-client.js";
import { type EngineFindings, examineEngine } from "./examine-engine.js";

/** What there is of it, for whoever gives it up. */
export interface Attempt {
  client: EngineClient | null;
  /** It is of use: nothing is to be waited for. */
  stands: boolean;
  isOver: boolean;
}

interface OpenOptions {
  readonly open: OpenClient;
  readonly clusterName: string;
  readonly nowMs: () => number;
}

export async function openEngine(
  attempt: Attempt,
  { open, clusterName, nowMs }: OpenOptions,
  options: Omit<ClientOptions, "asCluster">,
): Promise<{ readonly client: EngineClient; readonly findings: EngineFindings }> {
  const keep = (client: EngineClient): EngineClient => {
    attempt.client?.drop();
    attempt.client = client;
    if (attempt.isOver) client.drop();
    return client;
  };
  let client = keep(await open({ ...options, asCluster: false }));
  let findings = await examineEngine(client, clusterName, nowMs);
  if (findings.isCluster) {
    client = keep(await open({ ...options, asCluster: true }));
    findings = await examineEngine(client, clusterName, nowMs);
  }
  return { client, findings };
}

export function giveUp(attempt: Attempt): void {
  attempt.isOver = true;
  attempt.client?.drop();
}
