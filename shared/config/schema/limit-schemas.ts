/** The lists of rules and budgets in the schema of `sluice.yaml`. */
import { periodSecondsMax } from "../../bounds.js";
import { amountUsdMax } from "../../domain/budget.js";
import { budgetSection, ruleSection } from "../file/read-limit-lists.js";
import { boolean } from "../kinds/choice-kinds.js";
import { numberSchema } from "../kinds/number-kinds.js";
import { type JsonSchema, orVariable } from "../kinds/value-kind.js";
import { listOf, mapping, type Properties } from "./schema-parts.js";

type Section = typeof ruleSection | typeof budgetSection;

/** By the section that they stand in. */
export function limitSchemas(): Readonly<Record<string, Properties>> {
  return {
    [ruleSection.name]: listsOf(ruleSection, ruleLimit),
    [budgetSection.name]: listsOf(budgetSection, budgetLimit),
  };
}

function listsOf(section: Section, limit: JsonSchema): Properties {
  return Object.fromEntries(
    section.lists.map(({ list, scope, subjectKey, expected }) => {
      const subject = { type: "string", description: `Whom it limits: it ${expected}.` };
      const limits = {
        description: "The limits, each for a period.",
        ...listOf(limit, { min: 1, max: 1000 }),
      };
      const perChild = scope === "user_path" ? { per_child: perChildSchema } : {};
      const entry = mapping({ [subjectKey]: subject, ...perChild, limits }, [subjectKey, "limits"]);
      return [list, { description: listMeanings[list]!, ...listOf(entry) }];
    }),
  );
}

const listMeanings: Readonly<Record<string, string>> = {
  user_paths: "By user path: each covers everything below it.",
  providers: "By provider.",
  models: "By model: provider/id for one provider's, id for every provider's.",
  labels: "By the label of managed keys.",
};

const perChildSchema: JsonSchema = {
  description:
    "Each direct child of the path has the limits for itself; needs the entitlement quota_templates. Default: false.",
  default: false,
  ...boolean.schema,
};

const cap = numberSchema("integer", { min: 1, max: Number.MAX_SAFE_INTEGER });

/** A period by name, or by its seconds in a text. */
function period(names: readonly string[]): JsonSchema {
  return {
    description: "The period; in its place period_seconds says another.",
    ...orVariable({ enum: names }, { type: "string", pattern: "^\\s*\\d+\\s*$" }),
  };
}

function seconds(min: number): JsonSchema {
  const schema = numberSchema("integer", { min, max: periodSecondsMax });
  return { description: "The length of the period.", ...schema };
}

const ruleLimit = mapping({
  period: period(["minute", "hour", "day", "concurrent"]),
  period_seconds: seconds(0),
  max_requests: {
    description: "Requests in the period; for concurrent, requests in flight.",
    ...cap,
  },
  max_tokens: { description: "Tokens in the period; not for concurrent.", ...cap },
  host_only: {
    description:
      "Each host counts by it alone, although it shares its limits with others (cluster.url). Default: false.",
    default: false,
    ...boolean.schema,
  },
});

const budgetLimit = mapping(
  {
    period: period(["hourly", "daily", "weekly", "monthly"]),
    period_seconds: seconds(1),
    amount: {
      description: "US dollars.",
      type: ["number", "string"],
      exclusiveMinimum: 0,
      maximum: amountUsdMax,
    },
  },
  ["amount"],
);
