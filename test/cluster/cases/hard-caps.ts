/**
 * Hard caps over two hosts on a real engine: many streams at the same time on both hosts end near
 * the cap, also if one daemon is killed meanwhile, and then what is left of it is used.
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

async function used(at: string, path: string): Promise<number> {
  const rules = await until(
    async () =>
      // Without a daemon there are none.
      ((await admin(at, "GET /rate-limits")).body.rate_limits ?? []).filter(
        ({ subject }) => subject === path,
      ),
    ([rule]) => rule !== undefined,
  );
  return rules[0]!.tokens_used;
}

for (const [title, path, isKilled] of [
  ["streams on two hosts end at one cap", "/many", false],
  ["so they do if one daemon is killed and comes back", "/killed", true],
] as const)
  t.test(title, { skip }, async (t) => {
    const provider = await startEndlessStreams();
    t.teardown(() => provider.close());
    provider.atOnce = 1;
    const engine = await startEngine(t);
    const yaml = `
providers:
  test: { type: openai, base_url: "${provider.baseUrl}", api_key: none, models: [m], retries: 0 }
limiter: { deadline_ms: 30000 }
rate_limits:
  user_paths:
    - { path: ${path}, limits: [{ period: day, max_tokens: ${tokensMax}, hold: hard }] }
`;
    const sites = [0, 1].map(() => makeSite(t, yaml, { SLUICE_CLUSTER_URL: engine.url }));
    const daemons = await Promise.all(sites.map((site) => site.startDaemon()));
    const urls = await Promise.all(sites.map(async (site) => (await site.startProxy()).ready));
    const flowed = (): number => provider.calls.reduce((sum, { tokens }) => sum + tokens, 0);
    const answers = Promise.all(
      urls.flatMap((url) => Array.from({ length: streams }, () => ask(url, path))),
    );
    if (isKilled) {
      await until(
        async () => flowed(),
        (tokens) => tokens > tokensMax / 4,
      );
      await daemons[0]!.kill("SIGKILL");
      await sites[0]!.startDaemon();
    }
    await answers;
    t.comment(`${flowed()} tokens have flowed`);
    provider.atOnce = 50;
    for (const url of urls)
      await until(
        async () => {
          await ask(url, path);
          return used(url, path);
        },
        (tokens) => tokens > 0.97 * tokensMax,
      );
    for (const url of urls) {
      const tokens = await used(url, path);
      t.ok(tokens <= tokensMax * (1 + passed), `${tokens} are used`);
    }
  });
