/** A gateway with fourteen days of a hundred tenants behind it, and traffic that goes on. */
import { join } from "node:path";
import { makeSite } from "../../support/processes/processes.js";
import { seedHistory } from "./seed-history.js";
import { demoKeys, demoRules, demoTargets, demoYaml, tenants } from "./tenants.js";

export const demoKey = "sk-demo-of-a-hundred-tenants-0123456789";

/** `site` ends it. Resolves with its address. */
export async function startDemo(site: Parameters<typeof makeSite>[0]): Promise<string> {
  const made = makeSite(site, demoYaml, { SLUICE_MASTER_KEY: demoKey });
  await seedHistory(join(made.directory, "data"), Date.now() - 60_000);
  await made.startDaemon();
  const url = (await made.startProxy()).ready;
  const send = async (method: string, path: string, body: object, userPath = "/") => {
    const headers = { authorization: `Bearer ${demoKey}`, "x-sluice-user-path": userPath };
    const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
    await answer.arrayBuffer();
    return answer.status;
  };
  for (const key of demoKeys) await send("POST", "/admin/auth-keys", key);
  const soon = new Date(Date.now() + 3 * 86_400_000).toISOString();
  const contractor = { name: "contractor", user_path: tenants[0]!.path, expires_at: soon };
  await send("POST", "/admin/auth-keys", contractor);
  for (const rule of demoRules) await send("PUT", "/admin/rate-limits", rule);
  let sent = 0;
  const timer = setInterval(() => {
    for (let i = 0; i < 5; i++) {
      const at = Math.floor(((sent * 0.618_034) % 1) ** 2.2 * tenants.length);
      const [provider, model] = demoTargets[sent++ % demoTargets.length]!;
      const messages = [{ role: "user", content: "Summarize the last incident." }];
      const body = { model: `${provider}/${model}`, messages };
      void send("POST", "/v1/chat/completions", body, tenants[at]!.path).catch(() => undefined);
    }
  }, 1_000);
  site.teardown(() => clearInterval(timer));
  return url;
}
