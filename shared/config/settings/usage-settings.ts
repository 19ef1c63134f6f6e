/** The settings of usage records, `usage.*` in the file. */
import { boolean } from "../kinds/choice-kinds.js";
import { integer } from "../kinds/number-kinds.js";
import { setting } from "./setting.js";

export const usageSettings = {
  usageEnabled: setting({
    path: "usage.enabled",
    env: "USAGE_ENABLED",
    flag: null,
    kind: boolean,
    defaultValue: true,
    defaultText: "true",
    unit: null,
    meaning: "Tracks usage; token limits need it.",
  }),
  usageRetentionDays: setting({
    path: "usage.retention_days",
    env: "USAGE_RETENTION_DAYS",
    flag: null,
    kind: integer({ min: 1, max: 36_500 }),
    defaultValue: 400,
    defaultText: "400",
    unit: "days",
    meaning:
      "How long usage records are kept; their sums per day are kept as long, and at least 366 days.",
  }),
} as const;
