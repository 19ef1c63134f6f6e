/** All cells, in lanes that have a Sluice and a stand-in each. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client, Step } from "./client.js";
import { type Gateway, searchHost, startGateway } from "./gateway.js";
import { moved, searching } from "./providers/accounts.js";
import { type Host, hosts } from "./providers/hosts.js";
import { startStandIn } from "./providers/stand-in.js";
import { type CellResult, runCell, speaksTo } from "./run-cell.js";

export interface Wanted {
  readonly clients: readonly Client[];
  /** Only providers with this in their name. */
  readonly provider: string;
  readonly lanes: number;
  report(result: CellResult): void;
}

/** Steps that don't depend on the provider are tried at these two, native and translated. */
const limitHosts = ["openai", "anthropic"];
const limitSteps: readonly Step[] = ["abort", "busy", "day"];
/** A session that moves is compacted, too. */
const movedSteps: readonly Step[] = ["task", "again", "compact", "after"];
/** One of each dialect, and one that counts no tokens; gpt-oss and DeepSeek see no pictures. */
const pictureHosts = ["openai", "anthropic", "gemini"];
const countHosts = [...pictureHosts, "vllm"];

export async function runMatrix(wanted: Wanted): Promise<readonly CellResult[]> {
  const root = mkdtempSync(join(tmpdir(), "sluice-clients-"));
  // The one that waits longest at a day's limit begins, so that no lane waits for it alone.
  const waits = ({ dayRefusalsMax = 0 }: Client): number => dayRefusalsMax;
  const waiting = [...wanted.clients].sort((a, b) => waits(b) - waits(a));
  const results = new Map<Client, readonly CellResult[]>();
  const lane = async (): Promise<void> => {
    const standIn = await startStandIn();
    const gateway = await startGateway(standIn);
    for (let client = waiting.shift(); client !== undefined; client = waiting.shift())
      results.set(client, await runClient(gateway, client, wanted, root));
    await gateway.close();
    await standIn.close();
  };
  await Promise.all(Array.from({ length: wanted.lanes }, lane));
  rmSync(root, { recursive: true, force: true });
  return wanted.clients.flatMap((client) => results.get(client) ?? []);
}

/** The other models of `movedModels`; the virtual model has the name of a dialect. */
const twoAccounts: Host = { ...hosts[0]!, name: moved, models: [], rules: {} };

async function runClient(
  gateway: Gateway,
  client: Client,
  { provider, report }: Wanted,
  root: string,
): Promise<readonly CellResult[]> {
  const results: CellResult[] = [];
  const tried = hosts.filter(
    ({ name }) => name.includes(provider) && (client.hosts?.includes(name) ?? true),
  );
  for (const host of tried)
    for (const [i, model] of host.models.entries()) {
      const directory = join(root, client.id, `${host.name}-${i}`);
      const steps = stepsFor(client, host, i);
      const result = await runCell(gateway, { client, host, model, steps, directory });
      report(result);
      results.push(result);
    }
  if (client.movesSessions === true && moved.includes(provider)) {
    const model = client.dialect;
    const directory = join(root, client.id, moved);
    const steps = client.steps.filter((step) => movedSteps.includes(step));
    const result = await runCell(gateway, { client, host: twoAccounts, model, steps, directory });
    report(result);
    results.push(result);
  }
  if (client.steps.includes("search") && searching.includes(provider)) {
    const searchGateway = await startGateway(gateway.standIn, true);
    const [model] = searchHost.models;
    const result = await runCell(searchGateway, {
      client,
      host: { ...searchHost, name: searching, models: [], rules: {} },
      model: model!,
      steps: ["search"],
      directory: join(root, client.id, searching),
    });
    await searchGateway.close();
    report(result);
    results.push(result);
  }
  await client.close();
  return results;
}

function stepsFor(client: Client, host: Host, model: number): readonly Step[] {
  const isTried = (step: Step): boolean => {
    // At a model that takes all that the client sends, also without Sluice.
    if (step === "cap")
      return (
        pictureHosts.includes(host.name) &&
        model === host.models.length - 1 &&
        speaksTo({ client, host })
      );
    if (step === "compact" || step === "after" || step === "search") return false;
    const of = limitSteps.includes(step)
      ? limitHosts
      : step === "picture"
        ? pictureHosts
        : step === "count"
          ? countHosts
          : null;
    return of === null || (of.includes(host.name) && model === 0);
  };
  return client.steps.filter(isTried);
}
