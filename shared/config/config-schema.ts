/**
 * The JSON Schema of `sluice.yaml` (docs/reference/configuration.md, "In an editor"), generated
 * from the tables of settings. Editors use it to complete keys, show their meaning and mark errors.
 * `sluice config check` also checks whether values fit together.
 */
import { modelPatternsMax } from "../access/allowed-models.js";
import { candidatesMax, periodSecondsMax } from "../bounds.js";
import { amountUsdMax, unpricedChoices } from "../domain/budget.js";
import { minShareDefault, sharedChildrenMax, shareRanges } from "../domain/child-shares.js";
import { loopTimesMax, loopTurnsMax, warnDefaults } from "../domain/loop-rule.js";
import { costCapMax } from "../domain/rule.js";
import { budgetSection, ruleSection } from "./file/read-limit-lists.js";
import { boolean } from "./kinds/choice-kinds.js";
import { numberSchema, tokenWeights } from "./kinds/number-kinds.js";
import { type JsonSchema, orVariable, type ValueKind, withUnit } from "./kinds/value-kind.js";
import { presets } from "./presets.js";
import { alertSettings, alertsMax } from "./settings/alert-settings.js";
import { jwtSettings } from "./settings/jwt-settings.js";
import { mcpSettings } from "./settings/mcp-settings.js";
import { modelTraitsSettings, perModelSettings } from "./settings/model-traits-settings.js";
import {
  changeSettings,
  priceLists,
  priceSettings,
  tierSettings,
} from "./settings/price-settings.js";
import { providerLists, providerSettings } from "./settings/provider-settings.js";
import { rewriterSettings } from "./settings/rewriter-settings.js";
import { flagName, type Setting } from "./settings/setting.js";
import { sectionMeanings, settings } from "./settings/settings.js";

/** A plain object, ready to be printed. */
export function configSchema(): JsonSchema {
  const { sections, top } = scalarSettings();
  const limits = limitSchemas();
  for (const [name, lists] of Object.entries(limits))
    sections[name] = { ...sections[name], ...lists };
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "sluice.yaml",
    description: "The configuration of Sluice.",
    ...mapping({
      ...Object.fromEntries(
        Object.entries(sections).map(([name, properties]) => [
          name,
          {
            ...mapping(properties),
            description: sectionMeanings[name as keyof typeof sectionMeanings],
          },
        ]),
      ),
      ...top,
      ...namedEntries,
    }),
    definitions,
  };
}

/** The scalar settings: those of each section, and those at the top. */
function scalarSettings(): { sections: Record<string, Properties>; top: Properties } {
  const sections: Record<string, Properties> = {};
  const top: Record<string, JsonSchema> = {};
  const nested: Record<string, Record<string, JsonSchema>> = {};
  for (const setting of Object.values<Setting<unknown>>(settings)) {
    const [section, name, inner] = setting.path.split(".") as [string, string?, string?];
    if (name === undefined) top[section] = settingSchema(setting);
    else if (inner === undefined)
      sections[section] = { ...sections[section], [name]: settingSchema(setting) };
    else {
      const settingPath = `${section}.${name}`;
      nested[settingPath] = { ...nested[settingPath], [inner]: settingSchema(setting) };
    }
  }
  for (const [path, properties] of Object.entries(nested)) {
    const [section, name] = path.split(".") as [string, string];
    sections[section] = { ...sections[section], [name]: mapping(properties) };
  }
  return { sections, top };
}

function settingSchema({ env, flag, ...row }: Setting<unknown>): JsonSchema {
  const elsewhere = [
    ...(env === null ? [] : [`the variable ${env}`]),
    ...(flag === null ? [] : [`the flag ${flagName(flag)}`]),
  ].join(" and ");
  return rowSchema({
    ...row,
    meaning: elsewhere === "" ? row.meaning : `${row.meaning} Overridden by ${elsewhere}.`,
  });
}

interface Row {
  readonly kind: ValueKind<unknown>;
  readonly meaning: string;
  readonly defaultText: string | null;
  readonly defaultValue?: unknown;
}

/** The schema of a row of any table. */
function rowSchema({ kind, meaning, defaultText, defaultValue }: Row): JsonSchema {
  const words = defaultText === null ? "" : ` Default: ${withUnit(defaultText, kind)}.`;
  // In the file, an empty mapping is written instead of an empty list.
  const inFile = kind.label === "mapping" ? null : defaultInFile(defaultValue, defaultText);
  return {
    description: `${meaning}${words}`,
    ...(inFile === null ? {} : { default: inFile }),
    ...kind.schema,
  };
}

/** The default as written in the file; null if the file can't express it. */
function defaultInFile(value: unknown, text: string | null): unknown {
  if (value === undefined || value === null) return null;
  // The file has seconds, the setting milliseconds.
  return typeof value === "number" ? Number(text) : value;
}

function tableSchemas(table: Readonly<Record<string, Row>>): Properties {
  return Object.fromEntries(Object.entries(table).map(([key, row]) => [key, rowSchema(row)]));
}

function requiredOf(table: Readonly<Record<string, Row>>): readonly string[] {
  return Object.keys(table).filter((key) => table[key]!.defaultText === null);
}

const reference = (name: string): JsonSchema => ({ $ref: `#/definitions/${name}` });

const definitions: Readonly<Record<string, JsonSchema>> = {
  provider: mapping({
    ...tableSchemas(providerSettings),
    model_traits: {
      description: providerLists.model_traits.meaning,
      ...listOf(mapping(tableSchemas(modelTraitsSettings), requiredOf(modelTraitsSettings)), {
        max: providerLists.model_traits.entriesMax,
      }),
    },
    per_model: {
      description: providerLists.per_model.meaning,
      ...listOf(mapping(tableSchemas(perModelSettings), requiredOf(perModelSettings)), {
        max: providerLists.per_model.entriesMax,
      }),
    },
  }),
  mcp_server: mapping(tableSchemas(mcpSettings), requiredOf(mcpSettings)),
  virtual_model: mapping(
    {
      strategy: {
        description: "Which target is tried first. Default: round_robin.",
        default: "round_robin",
        ...orVariable({ enum: ["round_robin", "cost", "latency", "least_busy", "failover"] }),
      },
      affinity: {
        description:
          "Which conversations stay at one target. Default: session, those between several accounts that name their session.",
        default: "session",
        ...orVariable({ enum: ["none", "session", "conversation"] }),
      },
      targets: {
        description: "The models that it stands for.",
        ...listOf(
          mapping(
            {
              model: {
                description: "provider/id of a configured provider.",
                type: "string",
              },
              weight: {
                description: "Its share, for round_robin and least_busy. Default: 1.",
                default: 1,
                ...numberSchema("integer", { min: 1, max: 1000 }),
              },
            },
            ["model"],
          ),
          { min: 1, max: candidatesMax },
        ),
      },
    },
    ["targets"],
  ),
  price: mapping(
    {
      ...tableSchemas(priceSettings),
      tiers: {
        description: priceLists.tiers.meaning,
        ...listOf(mapping(tableSchemas(tierSettings), requiredOf(tierSettings)), {
          max: priceLists.tiers.entriesMax,
        }),
      },
      changes: {
        description: priceLists.changes.meaning,
        ...listOf(mapping(tableSchemas(changeSettings), requiredOf(changeSettings)), {
          max: priceLists.changes.entriesMax,
        }),
      },
    },
    requiredOf(priceSettings),
  ),
  issuer: mapping(tableSchemas(jwtSettings)),
  rewriter: mapping(tableSchemas(rewriterSettings), requiredOf(rewriterSettings)),
  alert: mapping(tableSchemas(alertSettings), requiredOf(alertSettings)),
};

/** The sections whose keys the operator chooses. */
const namedEntries: Properties = {
  providers: {
    description: "The providers, by names of your own; some names are known with their addresses.",
    type: ["object", "null"],
    properties: Object.fromEntries(presets.map(({ name }) => [name, reference("provider")])),
    additionalProperties: reference("provider"),
  },
  mcp_servers: {
    description: "MCP servers behind /mcp/{name}, by names of your own.",
    type: ["object", "null"],
    additionalProperties: reference("mcp_server"),
  },
  virtual_models: {
    description: "Names for several targets, by the names that callers use.",
    type: ["object", "null"],
    additionalProperties: reference("virtual_model"),
  },
  aliases: {
    description:
      "Other names for models, each with provider/model, provider/* or the name of a virtual model.",
    type: ["object", "null"],
    additionalProperties: { type: "string" },
  },
  prices: {
    description: "Prices by provider/model or provider/*, in US dollars.",
    type: ["object", "null"],
    additionalProperties: reference("price"),
  },
  jwt: {
    description: "Who may sign tokens for callers.",
    ...listOf(reference("issuer")),
  },
  rewriters: {
    description: "What is removed from prompts, in this order.",
    ...listOf(reference("rewriter")),
  },
  alerts: {
    description: "Where warnings of limits are posted before they end.",
    ...listOf(reference("alert"), { max: alertsMax }),
  },
};

type Section = typeof ruleSection | typeof budgetSection;

/** The limit lists by section. */
function limitSchemas(): Readonly<Record<string, Properties>> {
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

/** A period by name, or a text with its seconds. */
function period(names: readonly string[]): JsonSchema {
  return {
    description: "The period; or use period_seconds.",
    ...orVariable({ enum: names }, { type: "string", pattern: "^\\s*\\d+\\s*$" }),
  };
}

function seconds(min: number): JsonSchema {
  const schema = numberSchema("integer", { min, max: periodSecondsMax });
  return { description: "The length of the period.", ...schema };
}

const limitedModels: JsonSchema = {
  description:
    "On user paths: only these models, such as claude-opus-*; after ! those to leave out. Default: all.",
  ...listOf({ type: "string" }, { min: 1, max: modelPatternsMax }),
};

const onExhausted: JsonSchema = {
  description:
    "When exhausted: refuse, warn (it only counts), or use with another model. Default: refuse.",
  default: "refuse",
  anyOf: [
    orVariable({ enum: ["refuse", "warn"] }),
    {
      type: "object",
      properties: { use: { description: "The model that serves instead.", type: "string" } },
      required: ["use"],
      additionalProperties: false,
    },
  ],
};

const hold: JsonSchema = {
  description:
    "hard: running requests count with what they may still use, and a stream ends at the cap. soft: they end normally. Default: soft.",
  default: "soft",
  ...orVariable({ enum: ["soft", "hard"] }),
};

const shares: JsonSchema = {
  description:
    "How children of the path share the caps; of a provider or model, the first segments of callers' paths. Also a text: `a: weight=3, floor=0.2; *: weight=1`. Default: first come, first served.",
  anyOf: [
    mapping({
      default_weight: {
        description: "The weight of children that aren't named. Default: 1.",
        ...numberSchema("number", shareRanges.default_weight),
      },
      min_share: {
        description: `The part that lower priorities have together while a higher one wants more. Default: ${minShareDefault}.`,
        ...numberSchema("number", shareRanges.min_share),
      },
      children: {
        description: "By the segment of the path below the rule's.",
        type: ["object", "null"],
        maxProperties: sharedChildrenMax,
        additionalProperties: mapping({
          weight: {
            description: "Default: default_weight.",
            ...numberSchema("number", shareRanges.weight),
          },
          floor: {
            description:
              "The part of the cap that others use only while the child doesn't want it. Default: 0.",
            ...numberSchema("number", shareRanges.floor),
          },
          priority: {
            description: "Children of a higher priority come first. Default: 0.",
            ...numberSchema("integer", shareRanges.priority),
          },
        }),
      },
    }),
    { type: "string" },
  ],
};

const loops: JsonSchema = {
  description:
    "When Sluice warns of agents that repeat themselves or work on without end, and refuses them; for concurrent, on user paths. The nearest path with it applies. Also a text: `warn_after=5, refuse_after=20`.",
  anyOf: [
    mapping({
      warn_after: {
        description: `How often an agent may repeat itself until Sluice warns; 0: never. Default: ${warnDefaults.times}, or a lower refuse_after.`,
        ...numberSchema("integer", { min: 0, max: loopTimesMax }),
      },
      refuse_after: {
        description: "How often until Sluice refuses the request; 0: never. Default: 0.",
        ...numberSchema("integer", { min: 0, max: loopTimesMax }),
      },
      compare_results: {
        description:
          "Whether the results of the tools must be the same too, not only the calls. Default: true.",
        ...boolean.schema,
      },
      warn_after_turns: {
        description: `How many turns an agent may work since the user's last message until Sluice warns; 0: never. Default: ${warnDefaults.turns}, or a lower refuse_after_turns.`,
        ...numberSchema("integer", { min: 0, max: loopTurnsMax }),
      },
      refuse_after_turns: {
        description: "How many turns until Sluice refuses the request; 0: never. Default: 0.",
        ...numberSchema("integer", { min: 0, max: loopTurnsMax }),
      },
    }),
    { type: "string" },
  ],
};

const ruleLimit = {
  ...mapping({
    period: period(["minute", "hour", "day", "concurrent"]),
    period_seconds: seconds(0),
    models: limitedModels,
    when: {
      description: "The hours within which the rule counts and refuses. Default: always.",
      ...mapping({
        days: {
          description: "Default: every day.",
          type: ["array", "null"],
          minItems: 1,
          items: { enum: ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] },
        },
        from: { description: "Such as 09:00. Default: 00:00.", type: ["string", "null"] },
        to: {
          description: "If it is before from: on the next day. Default: 24:00.",
          type: ["string", "null"],
        },
        time_zone: { description: "An IANA name. Default: UTC.", type: ["string", "null"] },
      }),
    },
    mode: {
      description: "shadow: it refuses nothing, and notes what it would refuse. Default: enforce.",
      default: "enforce",
      ...orVariable({ enum: ["enforce", "shadow"] }),
    },
    max_requests: {
      description:
        "Requests in the period; for concurrent, requests in flight. 0 with models: they aren't allowed.",
      ...numberSchema("integer", { min: 0, max: Number.MAX_SAFE_INTEGER }),
    },
    max_tokens: { description: "Tokens in the period; not for concurrent.", ...cap },
    max_input_tokens: { description: "Tokens of the input in the period.", ...cap },
    max_output_tokens: { description: "Tokens of the output in the period.", ...cap },
    max_cost: {
      description: "US dollars in the period.",
      ...numberSchema("number", { min: 1e-12, max: costCapMax }),
    },
    max_tool_calls: {
      description: "Calls of the tools in models, such as tool:web_search, in the period.",
      ...cap,
    },
    max_enqueued_tokens: {
      description:
        "Tokens of unfinished batches of the path and below it; for concurrent, on user paths.",
      ...cap,
    },
    token_weights: {
      description:
        "How many tokens each kind of token counts as. Default: rate_limits.token_weights.",
      ...tokenWeights.schema,
    },
    host_only: {
      description:
        "Each host counts alone, although hosts share other limits (cluster.url). Default: false.",
      default: false,
      ...boolean.schema,
    },
    on_exhausted: onExhausted,
    hold,
    shares,
    loops,
  }),
  anyOf: [{ required: ["models"] }, { properties: { max_requests: { not: { const: 0 } } } }],
};

const budgetLimit = mapping(
  {
    period: period(["hourly", "daily", "weekly", "monthly", "quarterly", "yearly", "session"]),
    period_seconds: seconds(0),
    models: limitedModels,
    amount: {
      description: "US dollars.",
      type: ["number", "string"],
      exclusiveMinimum: 0,
      maximum: amountUsdMax,
    },
    unpriced: {
      description:
        "Whether callers under the budget may use models without a price. Default: budgets.unpriced.",
      ...orVariable({ enum: unpricedChoices }),
    },
    time_zone: {
      description:
        "IANA name of the time zone in which days, weeks, months, quarters and years begin. Default: that of sluice budgets settings, UTC.",
      type: "string",
    },
    anchor_day: {
      description:
        "Day on which months, quarters and years begin; in a shorter month its last day. Default: that of sluice budgets settings, 1.",
      ...numberSchema("integer", { min: 1, max: 31 }),
    },
    rolling: {
      description:
        "The spend of the last period_seconds counts at any time; the period has no fixed end. Default: false.",
      default: false,
      ...boolean.schema,
    },
    rollover: {
      description: "The part of the amount left over that the next period gets in addition.",
      ...numberSchema("number", { min: 0, max: 1 }),
    },
    on_exhausted: onExhausted,
    hold,
  },
  ["amount"],
);

type Properties = Readonly<Record<string, JsonSchema>>;

/** A mapping with only these keys; it may be absent unless a key is required. */
function mapping(properties: Properties, required: readonly string[] = []): JsonSchema {
  return {
    type: required.length === 0 ? ["object", "null"] : "object",
    ...(required.length === 0 ? {} : { required }),
    properties,
    additionalProperties: false,
  };
}

/** A list; with a `min` it must be present and not empty. */
function listOf(
  items: JsonSchema,
  { min = 0, max }: { readonly min?: number; readonly max?: number } = {},
): JsonSchema {
  return {
    type: min === 0 ? ["array", "null"] : "array",
    ...(min === 0 ? {} : { minItems: min }),
    ...(max === undefined ? {} : { maxItems: max }),
    items,
  };
}
