import { rmSync } from "node:fs";
import { version } from "../../../../shared/version.js";
import { agesSeconds } from "../../../support/ages.js";
import { ownBuild, sluiceMissing, startConfigured } from "../../peers/sluice.js";
import { priced } from "../work.js";
import type { GatewaySetUp, NamedCap, Setting } from "./gateway.js";

/** What the rules and budgets of a row have beside their cap. */
interface Extra {
  readonly rule: object;
  readonly budget: object;
}

function pathsOf(caps: readonly NamedCap[], extra: Extra): object {
  const rules = caps.filter(({ cap }) => cap.unit !== "dollars");
  const limitOf = ({ cap: { unit, amount } }: NamedCap): object =>
    unit === "slots"
      ? { period: "concurrent", max_requests: amount }
      : unit === "tokens"
        ? { period_seconds: agesSeconds, max_tokens: amount, ...extra.rule }
        : { period_seconds: agesSeconds, max_requests: amount };
  return {
    rate_limits: {
      user_paths: rules.map((named) => ({ path: `/${named.name}`, limits: [limitOf(named)] })),
    },
    budgets: {
      user_paths: caps
        .filter(({ cap }) => cap.unit === "dollars")
        .map(({ name, cap }) => ({
          path: `/${name}`,
          limits: [{ period_seconds: agesSeconds, amount: cap.amount, ...extra.budget }],
        })),
    },
  };
}

function setUp(
  row: Pick<GatewaySetUp, "name" | "units" | "configured">,
  extra: Extra,
): GatewaySetUp {
  return {
    ...row,
    find: () => (sluiceMissing() === null ? ownBuild.proxyFile : null),
    version: () => version,
    async start({ caps, home, providerUrl, processes, program }: Setting) {
      const daemonFile = program.replace(/sluice-proxy(?=\.js$)/, "sluice-limiterd");
      const build = { proxyFile: program, daemonFile };
      const start = (): ReturnType<typeof startConfigured> =>
        startConfigured(
          processes,
          home,
          {
            providers: {
              test: {
                type: "openai",
                base_url: `${providerUrl}/v1`,
                api_key: "none",
                models: [priced.model],
              },
            },
            prices: {
              [`test/${priced.model}`]: {
                input: priced.inputUsdPerMillion,
                output: priced.outputUsdPerMillion,
              },
            },
            rate_limits: {},
            ...pathsOf(caps, extra),
          },
          build,
        );
      let pair = await start();
      return {
        target: (cap) => ({
          url: pair.proxy.url,
          headers: { "x-sluice-user-path": `/${cap}` },
          model: priced.model,
        }),
        running: () => pair.proxy,
        async crash() {
          await Promise.all([processes.kill(pair.proxy), processes.kill(pair.daemon)]);
          rmSync(`${home}/limiterd.sock`, { force: true });
          pair = await start();
        },
      };
    },
  };
}

export const sluice = setUp(
  {
    name: "Sluice",
    units: ["requests", "tokens", "dollars", "slots"],
    configured:
      "proxy and daemon, the caps as rules and budgets of user paths, otherwise as it is shipped",
  },
  { rule: {}, budget: {} },
);

export const sluiceHard = setUp(
  {
    name: "Sluice, hard caps",
    units: ["tokens", "dollars"],
    configured: "the same with `hold: hard` on rules and budgets",
  },
  { rule: { hold: "hard" }, budget: { hold: "hard" } },
);
