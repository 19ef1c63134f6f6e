/** Checks how the fields of each entry of `alerts` fit together (docs/alerts.md). */
import { append } from "../../long-lists.js";
import { textDigest } from "../../text/text-digest.js";
import type { AlertConfig } from "../config.js";
import { type DeclaredAlert, validFields } from "../file/config-file.js";
import { thresholdsDefault } from "../settings/alert-settings.js";
import { type ProxyVariables, proxyFor } from "./outbound-proxies.js";
import { absolutePath } from "./resolve-settings.js";

interface Surroundings {
  /** The base of relative paths. */
  readonly directory: string;
  readonly proxies: ProxyVariables;
}

export function resolveAlerts(
  declared: readonly DeclaredAlert[],
  { directory, proxies }: Surroundings,
  problems: string[],
): readonly AlertConfig[] {
  const alerts: AlertConfig[] = [];
  const first = new Map<string, string>();
  for (const { path, fields: alert } of declared) {
    const fields = alert === null ? null : validFields(alert);
    // Required, so null only if it was wrong.
    const url = fields?.url ?? null;
    if (fields === null || url === null) continue;
    const format = fields.format ?? (isSlack(url) ? "slack" : "json");
    const wrong: string[] = [];
    const secrets = [fields.secret, fields.secret_file].filter((value) => value !== null).length;
    if (secrets > 1) wrong.push(`${path} must have one of secret and secret_file, not both`);
    if (format === "json" && secrets === 0)
      wrong.push(
        `${path}.secret is required for the format json, or secret_file: receivers check the signature. \`echo whsec_$(openssl rand -base64 32)\` makes one`,
      );
    if (format === "slack" && secrets > 0)
      wrong.push(`${path}.secret is for the format json: Slack checks no signature`);
    const earlier = first.get(url);
    if (earlier !== undefined)
      wrong.push(`${path} has the same url as ${earlier}: keep one of them`);
    first.set(url, earlier ?? path);
    append(problems, wrong);
    if (wrong.length > 0) continue;
    alerts.push({
      id: textDigest(url),
      url,
      at: [...new Set(fields.at ?? thresholdsDefault)].sort((a, b) => a - b),
      forecast: fields.forecast ?? true,
      rateLimits: fields.limits === "all",
      format,
      secret: fields.secret,
      secretFile: fields.secret_file === null ? null : absolutePath(fields.secret_file, directory),
      proxy: proxyFor(url, null, proxies),
    });
  }
  return alerts;
}

function isSlack(url: string): boolean {
  return new URL(url).hostname === "hooks.slack.com";
}
