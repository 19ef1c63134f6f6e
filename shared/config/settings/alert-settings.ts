/**
 * The fields of an entry of `alerts`: a destination and its alerts (docs/alerts.md).
 * `../resolve/alerts.ts` checks whether they fit together.
 */
import { boolean, choice } from "../kinds/choice-kinds.js";
import { listOf } from "../kinds/list-kinds.js";
import { numberOf, numberSchema } from "../kinds/number-kinds.js";
import { webhookSecret } from "../kinds/secret-kinds.js";
import { filePath } from "../kinds/text-kinds.js";
import { webhookUrl } from "../kinds/url-kinds.js";
import { type FieldValues, field } from "./setting.js";

/** The number of entries. */
export const alertsMax = 10;
const thresholdMin = 0.01;
const thresholdMax = 10;

export const thresholdsDefault: readonly number[] = [0.8, 1];

const thresholds = listOf(
  "must be a list of 1 to 10 shares such as [0.5, 0.8, 1.0], each at least a hundredth and up to 10 (1.0 is all of a limit)",
  (raw) => {
    const value = numberOf(raw);
    return value !== undefined && value >= thresholdMin && value <= thresholdMax
      ? value
      : undefined;
  },
  {
    itemsMin: 1,
    itemsMax: 10,
    item: numberSchema("number", { min: thresholdMin, max: thresholdMax }),
  },
);

/** By the key in the file. */
export const alertSettings = {
  url: field({
    kind: webhookUrl,
    defaultText: null,
    example: '"${ALERT_URL}"',
    meaning: "Where alerts are posted. Messages and logs show its host only.",
  }),
  at: field({
    kind: thresholds,
    defaultText: thresholdsDefault.join(", "),
    example: "[0.5, 0.8, 1.0]",
    meaning: "Used parts of a limit at which Sluice posts, once each in a period.",
  }),
  forecast: field({
    kind: boolean,
    defaultText: "true",
    example: "true",
    meaning: "Whether Sluice reports a budget that will run out before its period ends.",
  }),
  limits: field({
    kind: choice(["budgets", "all"]),
    defaultText: "budgets",
    example: "all",
    meaning: "all also reports rate limits, at most once an hour each.",
  }),
  format: field({
    kind: choice(["json", "slack"]),
    defaultText: "slack for hooks.slack.com, else json",
    example: "json",
    meaning: "The body: json, or the text that Slack's incoming webhooks take.",
  }),
  secret: field({
    kind: webhookSecret,
    defaultText: "none",
    example: '"${ALERT_SECRET}"',
    meaning: "Key of the signature, by the Standard Webhooks scheme; json needs it or secret_file.",
  }),
  secret_file: field({
    kind: filePath,
    defaultText: "none",
    example: "/run/secrets/alerts",
    meaning: "File with the secret, read at the start.",
  }),
} as const;

/** The checked fields of an entry; null for those that are left out. */
export type AlertFields = FieldValues<typeof alertSettings>;
