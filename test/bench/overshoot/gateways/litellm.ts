import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../../support/processes/free-port.js";
import { findProgram } from "../../peers/installed-peers.js";
import { priced } from "../work.js";
import type { GatewaySetUp, NamedCap } from "./gateway.js";

/** A key with the fields that a key of LiteLLM's database has. */
function keyOf({ name, cap: { unit, amount } }: NamedCap): [string, object] {
  const fields = {
    requests: { rpm_limit: amount },
    tokens: { tpm_limit: amount },
    dollars: { max_budget: amount },
    slots: { max_parallel_requests: amount },
  };
  return [`sk-${name}`, fields[unit]];
}

const customAuth = `import json
import pathlib
from litellm.proxy._types import UserAPIKeyAuth, hash_token
from litellm.proxy.hooks.proxy_track_cost_callback import _ProxyDBLogger

spend = _ProxyDBLogger()
keys = json.loads((pathlib.Path(__file__).parent / "keys.json").read_text())

async def user_api_key_auth(request, api_key):
    return UserAPIKeyAuth(api_key=api_key, token=hash_token(api_key), **keys[api_key])
`;

export const litellm: GatewaySetUp = {
  name: "LiteLLM",
  units: ["requests", "tokens", "dollars", "slots"],
  configured:
    "one worker, Redis for its counters; limits and budgets on keys, by a custom_auth function with custom_auth_run_common_checks; without PostgreSQL, so a callback logs the spend; windows of an hour",
  // Without Redis it isn't at its best.
  find: () => (findProgram("redis-server") === null ? null : findProgram("litellm")),
  version(program) {
    const script = "import importlib.metadata as m; print(m.version('litellm'))";
    const python = readFileSync(program, "utf8").split("\n")[0]!.replace("#!", "").trim();
    return spawnSync(python, ["-c", script], { encoding: "utf8" }).stdout.trim() || "unknown";
  },
  async start({ caps, home, providerUrl, processes, program }) {
    const [port, redisPort] = [await freePort(), await freePort()];
    const redis = { host: "127.0.0.1", port: redisPort };
    await processes.program(
      findProgram("redis-server") ?? "redis-server",
      ["--port", `${redisPort}`, "--bind", redis.host, "--dir", home, "--save", ""],
      redis,
    );
    const config = {
      model_list: [
        {
          model_name: priced.model,
          litellm_params: {
            model: `openai/${priced.model}`,
            api_base: `${providerUrl}/v1`,
            api_key: "none",
            input_cost_per_token: priced.inputUsdPerMillion / 1e6,
            output_cost_per_token: priced.outputUsdPerMillion / 1e6,
          },
        },
      ],
      litellm_settings: {
        num_retries: 0,
        // What it registers only where there is a database, and what settles its reservations.
        callbacks: ["custom_auth.spend"],
        cache: true,
        // Its counters are in Redis; answers aren't cached.
        cache_params: { type: "redis", ...redis, supported_call_types: [] },
      },
      router_settings: {
        redis_host: redis.host,
        redis_port: redis.port,
        num_retries: 0,
        // The provider refuses nobody, and a broken call isn't a reason to shut it out.
        disable_cooldowns: true,
      },
      general_settings: {
        custom_auth: "custom_auth.user_api_key_auth",
        custom_auth_run_common_checks: true,
        always_include_stream_usage: true,
      },
    };
    writeFileSync(join(home, "config.yaml"), JSON.stringify(config));
    writeFileSync(join(home, "custom_auth.py"), customAuth);
    writeFileSync(join(home, "keys.json"), JSON.stringify(Object.fromEntries(caps.map(keyOf))));
    const args = [
      "--config",
      join(home, "config.yaml"),
      "--host",
      "127.0.0.1",
      "--port",
      `${port}`,
    ];
    const env = {
      LITELLM_MASTER_KEY: `sk-${randomBytes(32).toString("hex")}`,
      LITELLM_RATE_LIMIT_WINDOW_SIZE: "3600",
      LITELLM_LOCAL_MODEL_COST_MAP: "True",
      LITELLM_LOG: "ERROR",
      // On a busy machine it would give Redis up and count by itself.
      REDIS_SOCKET_TIMEOUT: "30",
      REDIS_CONNECTION_POOL_TIMEOUT: "30",
    };
    const start = (): ReturnType<typeof processes.program> =>
      processes.program(program, args, { host: "127.0.0.1", port }, { cwd: home, env });
    let running = await start();
    return {
      target: (cap) => ({
        url: `http://127.0.0.1:${port}`,
        headers: { authorization: `Bearer sk-${cap}` },
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
