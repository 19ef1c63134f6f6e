/** What tests of keys share: a gateway that takes known callers alone, a request, a command. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { hashKey } from "../../../shared/domain/make-managed-key.js";
import { agesSeconds } from "../../support/ages.js";
import type { Site } from "../../support/processes/processes.js";
import { programPath } from "../../support/processes/program-path.js";

export const masterKey = "sk-master-key-of-the-test";
export const closed = `
server: { master_key: ${masterKey} }
rate_limits:
  user_paths: [{ path: /team, limits: [{ period_seconds: ${agesSeconds}, max_requests: 100 }] }]
`;
export const hexOf = (key: string): string =>
  Buffer.from(hashKey(key), "base64url").toString("hex");

/** Its status, and the limit that its headers name. */
export async function chat(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<readonly [status: number, limit: string | null]> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers,
    body: JSON.stringify({ model: "sim-fast", messages: [{ role: "user", content: "hi" }] }),
  });
  await response.text();
  return [response.status, response.headers.get("x-ratelimit-limit-requests")];
}

/** Runs `sluice`, at the gateway's socket unless `argv` has `--url`. */
export async function cli(
  site: Site,
  ...argv: string[]
): Promise<{ stdout: string; stderr: string }> {
  const to = argv.includes("--url") ? [] : ["--socket", site.socket];
  const run = [programPath("sluice"), ...to, ...argv];
  return await promisify(execFile)(process.execPath, run, {
    cwd: site.directory,
    env: { PATH: process.env["PATH"] },
  });
}
