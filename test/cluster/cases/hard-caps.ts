/**
 * Hard caps over two hosts on a real engine: many streams at the same time on both hosts end near
 * the cap of a rule or budget, also if one daemon is killed meanwhile, or if the engine is away and
 * loses its data. Then what is left of the cap is used.
 */
import t from "tap";
import { admin, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { engineProgram, noEngine, startEngine } from "../../support/processes/start-engine.js";
import { startEndlessStreams } from "../../support/providers/endless-streams.js";

const skip = engineProgram === null && noEngine;
const streams = 50;
const tokensMax = 40_000;
/** What the streams may exceed the cap by: a chunk each, and what is on its way. */
const passed = 0.25;

async function ask(at: string, path: string): Promise<number> {
  try {
    const response = await fetch(`${at}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-sluice-user-path": path },
      body: JSON.stringify({
        ...{ model: "m", stream: true, messages: [{ role: "user", content: "hi" }] },
      }),
    });
    await response.text();
    return response.status;
  } catch {
    return 0;
  }
}

/** The part of the cap that is used. */
async function used(at: string, { kind, path }: Pick<Case, "kind" | "path">): Promise<number> {
  const read = async (): Promise<readonly number[]> => {
    // Without a daemon there are none.
    if (kind === "rule") {
      const { rate_limits: rules = [] } = (await admin(at, "GET /rate-limits")).body;
      return rules.flatMap(({ subject, tokens_used }) => (subject === path ? tokens_used : []));
    }
    const { budgets = [] } = (await admin(at, "GET /budgets")).body as unknown as BudgetList;
    return budgets.flatMap(({ user_path, spent }) => (user_path === path ? spent * 1e6 : []));
  };
  return (await until(read, ([tokens]) => tokens !== undefined))[0]! / tokensMax;
}

interface BudgetList {
  readonly budgets?: readonly { readonly user_path: string; readonly spent: number }[];
}

interface Case {
  readonly title: string;
  readonly kind: "rule" | "budget";
  readonly path: string;
  readonly trouble: "none" | "a daemon is killed" | "the engine is away";
}

const cases: readonly Case[] = (["rule", "budget"] as const).flatMap((kind) => [
  { kind, title: `streams on two hosts end at one ${kind}`, path: "/many", trouble: "none" },
  {
    ...{ kind, title: `so they do at a ${kind} if one daemon is killed and comes back` },
    ...{ path: "/killed", trouble: "a daemon is killed" },
  },
  {
    ...{ kind, title: `so they do at a ${kind} if the engine is away for some seconds` },
    ...{ path: "/away", trouble: "the engine is away" },
  },
]);

t.setTimeout(300_000);
for (const each of cases)
  t.test(each.title, { skip }, async (t) => {
    const { kind, path, trouble } = each;
    const provider = await startEndlessStreams();
    t.teardown(() => provider.close());
    provider.atOnce = 1;
    const engine = await startEngine(t);
    const yaml = `
providers:
  test: { type: openai, base_url: "${provider.baseUrl}", api_key: none, models: [m], retries: 0 }
prices: { test/m: { input: 1, output: 1 } }
limiter: { deadline_ms: 30000 }
${
  kind === "rule"
    ? `rate_limits:
  user_paths:
    - { path: ${path}, limits: [{ period: day, max_tokens: ${tokensMax}, hold: hard }] }`
    : `budgets:
  user_paths:
    - { path: ${path}, limits: [{ period: daily, amount: ${tokensMax / 1e6}, hold: hard }] }`
}
`;
    const sites = [0, 1].map(() => makeSite(t, yaml, { SLUICE_CLUSTER_URL: engine.url }));
    const daemons = await Promise.all(sites.map((site) => site.startDaemon()));
    const urls = await Promise.all(sites.map(async (site) => (await site.startProxy()).ready));
    const flowed = (): number => provider.calls.reduce((sum, { tokens }) => sum + tokens, 0);
    const answers = Promise.all(
      urls.flatMap((url) => Array.from({ length: streams }, () => ask(url, path))),
    );
    if (trouble !== "none")
      await until(
        async () => flowed(),
        (tokens) => tokens > tokensMax / 4,
      );
    if (trouble === "a daemon is killed") {
      await daemons[0]!.kill("SIGKILL");
      await sites[0]!.startDaemon();
    }
    if (trouble === "the engine is away") {
      await engine.kill();
      await new Promise((resolve) => setTimeout(resolve, 3000));
      await engine.restart();
    }
    await answers;
    t.comment(`${flowed()} tokens have flowed`);
    provider.atOnce = 50;
    for (const url of urls)
      await until(
        async () => {
          await ask(url, path);
          return used(url, each);
        },
        (part) => part > 0.97,
      );
    for (const url of urls) {
      const part = await used(url, each);
      t.ok(part <= 1 + passed, `${part} of the cap is used`);
    }
  });
