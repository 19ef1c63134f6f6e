import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../../support/processes/free-port.js";
import { findProgram } from "../../peers/installed-peers.js";
import { priced } from "../work.js";
import type { GatewaySetUp } from "./gateway.js";

/** It judges budgets by usage records, which it writes once a second at the soonest. */
export const gomodel: GatewaySetUp = {
  name: "GoModel",
  units: ["dollars"],
  configured:
    "budgets of user paths in SQLite, usage written every second (the shortest interval; 5 s by default)",
  find: () => findProgram("gomodel"),
  version(program) {
    const { stdout } = spawnSync("go", ["version", "-m", program], { encoding: "utf8" });
    const revision = /vcs\.revision=(\w{8})/.exec(stdout)?.[1];
    const day = /vcs\.time=(\d{4}-\d\d-\d\d)/.exec(stdout)?.[1];
    return revision === undefined ? "unknown" : `${revision} of ${day}`;
  },
  async start({ caps, home, providerUrl, processes, program }) {
    const port = await freePort();
    const config = {
      storage: { type: "sqlite", sqlite: { path: join(home, "gomodel.db") } },
      cache: {
        model: {
          local: { cache_dir: join(home, "cache") },
          model_list: { url: `${providerUrl}/prices.json` },
        },
      },
      usage: { enabled: true, enforce_returning_usage_data: true, flush_interval: 1 },
      budgets: {
        enabled: true,
        user_paths: caps.map(({ name, cap }) => ({
          path: `/${name}`,
          limits: [{ period: "daily", amount: cap.amount }],
        })),
      },
      // A refused or broken call isn't sent again.
      resilience: { retry: { max_retries: 0 } },
      providers: {
        openai: {
          type: "openai",
          base_url: `${providerUrl}/v1`,
          api_key: "none",
          models: [priced.model],
        },
      },
    };
    writeFileSync(join(home, "config.yaml"), JSON.stringify(config));
    const start = (): ReturnType<typeof processes.program> =>
      processes.program(
        program,
        [],
        { host: "127.0.0.1", port },
        { cwd: home, env: { PORT: `${port}` } },
      );
    let running = await start();
    return {
      target: (cap) => ({
        url: `http://127.0.0.1:${port}`,
        headers: { "x-gomodel-user-path": `/${cap}` },
        model: priced.model,
      }),
      running: () => running,
      async crash() {
        await processes.kill(running);
        running = await start();
      },
    };
  },
};
