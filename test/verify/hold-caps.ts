/** Caps of the real programs under a hundred streams, and how many requests they carry. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { giveJob } from "../bench/measure/job-channel.js";
import { startClients } from "../bench/overshoot/clients.js";
import { sluice } from "../bench/overshoot/gateways/sluice.js";
import type { ProviderJob } from "../bench/overshoot/provider.js";
import { capText, percent } from "../bench/overshoot/results.js";
import { runCap } from "../bench/overshoot/run-cap.js";
import { capFor, type Served, type Unit } from "../bench/overshoot/work.js";
import { programFiles, type RealRun } from "./kill-processes.js";
import type { Part } from "./simulated.js";

const streams = 100;
const requests = 200;
const throughputMs = 3_000;
/** Never beyond these. A soft cap on tokens may be exceeded by what runs. */
const exact: readonly Unit[] = ["requests", "slots"];

export async function holdCaps({ processes, dir, programs }: RealRun): Promise<Part> {
  const provider = await processes.node(
    fileURLToPath(new URL("../bench/overshoot/provider.js", import.meta.url)),
    [],
  );
  const home = join(dir, "caps");
  mkdirSync(home, { mode: 0o700 });
  const caps = (["requests", "tokens", "slots"] as const).map((unit) => ({
    name: unit,
    cap: capFor(unit, requests),
  }));
  const gateway = await sluice.start({
    ...{ caps, home, providerUrl: provider.url, processes },
    program: programFiles(programs).proxyFile,
  });
  const problems: string[] = [];
  const texts: string[] = [];
  const details: Record<string, unknown> = {};
  for (const { name, cap } of caps) {
    const run = { cap, streams, target: () => gateway.target(name), crash: null };
    const { served, overshoot, utilisation } = await runCap(provider.child, run);
    details[name] = { cap: cap.amount, served: Math.round(served), overshoot, utilisation };
    // A soft cap on tokens lets running requests end: docs/hard-caps.md.
    const soft = exact.includes(name) ? "" : " by a soft cap";
    texts.push(`${capText(cap)}: ${percent(served / cap.amount)}${soft}`);
    if (exact.includes(name) && overshoot > 0)
      problems.push(`${capText(cap)}: ${Math.round(served)} were served`);
    if (name !== "slots" && utilisation < 0.99)
      problems.push(`${capText(cap)}: only ${percent(utilisation)} could be used`);
  }
  await giveJob<ProviderJob, Served>(provider.child, { reset: { everyMs: 0 } });
  const clients = startClients(() => gateway.target("none"), 16);
  await delay(throughputMs);
  const { whole, broken } = clients.tally;
  await clients.stop();
  const perSecond = Math.round((whole * 1000) / throughputMs);
  details["streams_per_second"] = perSecond;
  if (broken > 0) problems.push(`${broken} requests without a cap failed`);
  return {
    text: `${streams} streams at the same moment: ${texts.join(", ")} served; 16 at the same moment: ${perSecond} streams/s`,
    details,
    problems,
  };
}
