/**
 * Many slow streams at once through real processes: each complete, and every slot given back,
 * however they end. Figures: `npm run heavy -- bench:streams`.
 */
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { ruleNow, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  createStreamClients,
  startSlowProvider,
  streamTokens,
} from "../../support/providers/slow-streams.js";

const streams = 150;
const provider = await startSlowProvider(60);
t.teardown(() => provider.close());
const site = makeSite(
  t,
  `
providers:
  test: { type: openai, base_url: "${provider.baseUrl}", api_key: none, models: ["*"] }
rate_limits:
  user_paths:
    - { path: /, limits: [{ period_seconds: ${agesSeconds}, max_tokens: 100000000 }, { period: concurrent, max_requests: ${streams} }] }
`,
);
await site.startDaemon();
const { ready: url } = await site.startProxy();
const clients = createStreamClients();
const inFlight = async (): Promise<number> => (await ruleNow(url, "/", 0)).in_flight;
const tokens = async (): Promise<number> => (await ruleNow(url, "/", agesSeconds)).tokens_used;
const none = { complete: 0, cut: 0, wrong: 0, refused: 0, left: 0 };

t.test("all come whole, each in its slot to the last byte, and each is charged once", async (t) => {
  await clients.open(url, streams);
  t.equal(await inFlight(), streams);
  provider.finish(15);
  t.same(await clients.ended(), { ...none, complete: streams });
  t.equal(await inFlight(), 0, "who has seen the end finds the slot free");
  t.equal(await tokens(), streams * streamTokens);
});

t.test(
  "when half of the clients leave, their slots and their upstreams are free and the others come whole",
  async (t) => {
    await clients.open(url, streams);
    const { connections } = provider;
    clients.leave(streams / 2);
    await until(inFlight, (now) => now === streams / 2);
    await until(
      async () => provider.open,
      (now) => now === streams / 2,
    );
    provider.finish(15);
    t.same(await clients.ended(), { ...none, complete: streams / 2, left: streams / 2 });
    t.equal(await inFlight(), 0);
    t.equal(
      provider.connections,
      connections,
      "nothing is connected for in place of those who left",
    );
  },
);

t.test("when the provider dies, each client's stream is cut, and every slot is free", async (t) => {
  await clients.open(url, streams);
  t.equal(await inFlight(), streams);
  await provider.close();
  t.same(await clients.ended(), { ...none, cut: streams });
  await until(inFlight, (now) => now === 0);
});
