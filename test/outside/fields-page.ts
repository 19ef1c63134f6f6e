/**
 * `npm run heavy -- fields`: what becomes of each field of a dialect at each type of provider, and
 * test/outside/fields.md, which is made from it. Ends with 1 if a provider refuses what Sluice
 * made of a valid request, or if the page differs; `--write` writes it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../tidy/source-tree.js";
import { type FieldResult, fieldDialects, outcomes, playFields } from "./fields.js";
import { startOutsideGateway } from "./gateway.js";

/** One model of each type, and one of OpenAI's that reasons. */
const models = [
  "openai/gpt-4.1",
  "openai/gpt-5",
  "azure/gpt-4o",
  "anthropic/claude-opus-4-6",
  "gemini/gemini-2.5-pro",
  "vllm/qwen3-coder",
  "ollama/qwen3",
];

/** A provider's refusal that is the right answer: nothing can be sent in the field's place. */
const rightlyRefused: readonly RegExp[] = [/^gemini \S+: (?:top_)?logprobs: unknown field/];

const pageFile = join(root, "test/outside/fields.md");

const head = `# Fields by provider

What becomes of each field of a request at each type of provider. \`npm run heavy -- fields --write\` writes this file: it sends every field of the dialect's published description alone, with a valid value, through a gateway to providers that hold requests to their own descriptions. [Dialects](../../docs/reference/dialects.md) describes what fields become.

- **passed**: the provider gets the field unchanged. In its own dialect, it may refuse the field itself.
- **mapped**: other fields of the provider's dialect say the same.
- **left out**: the answer means the same without it.
- **dropped**: the provider doesn't get it, and \`x-sluice-dropped\` names it. For a request that is translated twice, the name is that of the field in chat completions.
- **refused**: a 400 that names it.
`;

type Column = ReadonlyMap<string, FieldResult>;

function dialectTables(columns: readonly Column[]): string {
  const fields = [...columns[0]!.keys()];
  const rows = new Map<string, string[]>();
  for (const field of fields) {
    const key = columns.map((column) => column.get(field)!.outcome).join(" | ");
    rows.set(key, [...(rows.get(key) ?? []), `\`${field}\``]);
  }
  const shares = columns.map((column) => {
    const all = [...column.values()];
    const counts = outcomes.map((one) => [all.filter((each) => each.outcome === one).length, one]);
    return counts
      .filter(([count]) => count !== 0)
      .map((each) => each.join(" "))
      .join(", ");
  });
  return [
    `| field | ${models.join(" | ")} |`,
    `|---|${models.map(() => "---").join("|")}|`,
    ...[...rows].map(([key, names]) => `| ${names.join(", ")} | ${key} |`),
    `| all ${fields.length} | ${shares.join(" | ")} |`,
  ].join("\n");
}

const endings: (() => unknown)[] = [];
const gateway = await startOutsideGateway({ teardown: (end) => void endings.push(end as never) });
const sections: string[] = [];
const problems: string[] = [];
for (const dialect of fieldDialects) {
  const columns: Column[] = [];
  for (const model of models) {
    const results = await playFields(gateway, dialect, model);
    columns.push(new Map(results.map((result) => [result.field, result])));
    for (const { field, problem } of results)
      if (problem !== null && !rightlyRefused.some((right) => right.test(problem)))
        problems.push(`${dialect.name} to ${model}, ${field}: ${problem}`);
  }
  sections.push(`## ${dialect.name}\n\n${dialectTables(columns)}\n`);
}
for (const end of endings.reverse()) await end();
const page = [head, ...sections].join("\n");
for (const problem of problems) process.stdout.write(`${problem}\n`);
const isWritten = process.argv.includes("--write");
if (isWritten) writeFileSync(pageFile, page);
const isSame = readFileSync(pageFile, "utf8") === page;
if (!isSame)
  process.stdout.write("test/outside/fields.md differs: npm run heavy -- fields --write\n");
process.stdout.write(`${problems.length} refusals of what Sluice made\n`);
process.exitCode = problems.length > 0 || !isSame ? 1 : 0;
