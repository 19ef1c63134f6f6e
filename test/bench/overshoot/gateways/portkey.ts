import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { freePort } from "../../../support/processes/free-port.js";
import { priced } from "../work.js";
import type { GatewaySetUp } from "./gateway.js";

/** Its open source has no limits and no budgets; those are a service of its company. */
export const portkey: GatewaySetUp = {
  name: "Portkey",
  units: [],
  configured: "its open source gateway has no limits and no budgets",
  find: () => {
    const file = join(process.cwd(), "node_modules/@portkey-ai/gateway/build/start-server.js");
    return existsSync(file) ? file : null;
  },
  version: (program) =>
    (
      JSON.parse(readFileSync(join(dirname(program), "../package.json"), "utf8")) as {
        version: string;
      }
    ).version,
  async start({ providerUrl, processes, home, program }) {
    const port = await freePort();
    const start = (): ReturnType<typeof processes.program> =>
      processes.program(
        process.execPath,
        [program, `--port=${port}`, "--headless"],
        { host: "127.0.0.1", port },
        { cwd: home, env: { NODE_ENV: "production" } },
      );
    let running = await start();
    return {
      target: () => ({
        url: `http://127.0.0.1:${port}`,
        headers: {
          authorization: "Bearer none",
          "x-portkey-provider": "openai",
          "x-portkey-custom-host": `${providerUrl}/v1`,
        },
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
