/** docs/clients.md, made from the results of a run. */
import type { Client, Step } from "./client.js";
import { whyNotYet, whyWithoutSluice } from "./known.js";
import { hosts } from "./providers/hosts.js";
import type { CellResult, StepResult } from "./run-cell.js";

/** `late`: with and without Sluice the client was ended at the deadline, which says nothing. */
export type Verdict = "works" | "as_without" | "late" | "not_yet" | "red";

const signs: Readonly<Record<Exclude<Verdict, "late">, string>> = {
  works: "✓",
  as_without: "○",
  not_yet: "…",
  red: "✗",
};

export function verdictOf(cell: CellResult): Verdict {
  const wrong = cell.steps.filter(({ problem }) => problem !== null);
  if (wrong.length === 0) return "works";
  const isLate = ({ isLate, directly }: StepResult): boolean => isLate && directly === "late";
  if (wrong.every((step) => step.directly === "fails" || isLate(step)))
    return wrong.some(isLate) ? "late" : "as_without";
  return whyNotYet(cell) === null ? "red" : "not_yet";
}

const intro = `# Clients

How to point an agent or an SDK at Sluice, and [which works with which provider](#what-works). Set the base URL and a [managed key](keys.md). Use any model that Sluice knows: a provider's, as \`provider/model\`, a [virtual one](failover.md) or an alias. The client and the provider may speak different APIs.

## Set-up
`;

const works = `
## What works

The real clients call a real Sluice, in front of simulated providers that refuse what each provider's API would refuse. \`npm run heavy -- clients --write\` makes this table.

Each client calls tools over two turns; SDKs also stream and ask for structured output. Sluice must record exactly the tokens that the provider counts. With OpenAI and Anthropic, each client also leaves a stream, waits for a *slot* (room under a cap on requests in flight), and meets an exhausted limit. Agents also fail over within a session, compact it, and use [Sluice's web search](web-search.md).

- ✓: all of it works
- ○: fails without Sluice in the same way; the reason is below
- …: doesn't work yet; the reason is below
- –: not tried, or the client doesn't do it

`;

export interface PageParts {
  readonly clients: readonly Client[];
  readonly results: readonly CellResult[];
  /** The page as it is: rows of clients that haven't run stay. */
  readonly before: string;
}

/** The whole page. */
export function clientsPage({ clients, results, before }: PageParts): string {
  const linesBefore = before.split("\n");
  const of = (client: Client): readonly CellResult[] =>
    results.filter((result) => result.client === client.id);
  const rows = clients.map((client) => {
    const cells = of(client);
    const signsBefore = cellsOf(linesBefore, client);
    if (cells.length === 0) return { client, signs: signsBefore };
    const inRow = columns.map(({ host, model }, i) => {
      const cell = cells.find((each) => each.host === host && each.model === model);
      if (cell === undefined) return "–";
      const verdict = verdictOf(cell);
      return verdict === "late" ? (signsBefore[i] ?? signs.red) : signs[verdict];
    });
    return { client, signs: [...inRow, ...limitCells(client, cells)] };
  });
  const heads = columns.map(({ title, model }) => `${title} ${shortName(model)}`);
  return [
    intro,
    ...setUps(clients),
    works,
    table(["client", ...heads, ...limitHeads], rowsOf(rows)),
    "\n",
    notes(clients, results),
  ]
    .join("")
    .replace(/\n+$/, "\n");
}

const columns = hosts.flatMap(({ name, title, models }) =>
  models.map((model) => ({ host: name, title, model })),
);
const limitHeads = ["leaves a stream", "waits for a slot", "stops at the day's limit"];

const version = / \d[\d.]*(?:, \d[\d.]*)*(?=[ ,]|$)/;

/** Versions of a client with the same signs share a row, which names all of them. */
function rowsOf(
  rows: readonly { readonly client: Client; readonly signs: readonly string[] }[],
): readonly string[] {
  const alike = new Map<string, string[]>();
  for (const { client, signs } of rows) {
    const name = client.title.replace(version, "");
    const cells = signs.length === 0 ? " not tried " : signs.join("|");
    const key = `${name}|${cells}`;
    alike.set(key, [...(alike.get(key) ?? []), client.title]);
  }
  return [...alike].map(([key, titles]) => {
    const versions = titles.map((title) => version.exec(title)?.[0].trim() ?? "");
    const title = titles[0]!.replace(version, ` ${versions.join(", ")}`);
    return `| ${title} ${key.slice(key.indexOf("|"))}|`;
  });
}

/** The titles of the clients of a row, such as `openai 4, 5 (JavaScript)`. */
export function titlesIn(line: string): readonly string[] {
  const [, title = ""] = /^\| (.+?) \|/.exec(line) ?? [];
  const versions = version.exec(title)?.[0].trim().split(", ") ?? [];
  return versions.length < 2 ? [title] : versions.map((each) => title.replace(version, ` ${each}`));
}

/** The signs in a client's row, in the order of the columns. */
function cellsOf(lines: readonly string[], { title }: Client): readonly string[] {
  const found = lines.find((line) => titlesIn(line).includes(title));
  const signs = found?.replace(/^\| .+? \|/, "").slice(0, -1) ?? "";
  return /^$|not tried/.test(signs) ? [] : signs.split("|");
}

/**
 * What a run says otherwise than the page, a line each; null if some client hasn't run: the notes
 * are of all clients.
 */
export function pageDifferences(parts: PageParts): readonly string[] | null {
  const { clients, results, before } = parts;
  const ran = new Set(results.map(({ client }) => client));
  if (!clients.every(({ id }) => ran.has(id))) return null;
  const hasLate = results.some((cell) => verdictOf(cell) === "late");
  const linesOf = (page: string): readonly string[] =>
    page.split("\n").filter((line) => !hasLate || !/^(?:- |$)/.test(line));
  const now = linesOf(clientsPage(parts));
  const then = linesOf(before);
  const inRows = clients.flatMap((client) => {
    const signsNow = cellsOf(now, client);
    const signsThen = cellsOf(then, client);
    return [...columns.map(({ host, model }) => `${host}/${model}`), ...limitHeads].flatMap(
      (column, i) => {
        if (signsNow[i] === signsThen[i]) return [];
        const cell = results.find(
          (each) => each.client === client.id && column === `${each.host}/${each.model}`,
        );
        const why = cell === undefined || verdictOf(cell) === "works" ? "" : `: ${reasonOf(cell)}`;
        return [
          `${client.id} on ${column}: the page says ${signsThen[i]}, this run ${signsNow[i]}${why}`,
        ];
      },
    );
  });
  const isRow = (line: string): boolean =>
    clients.some(({ title }) => titlesIn(line).includes(title));
  const only = (some: readonly string[], others: readonly string[]): readonly string[] =>
    some.filter((line) => !isRow(line) && !others.includes(line));
  const others = [
    ...only(then, now).map((line) => `only the page says: ${line}`),
    ...only(now, then).map((line) => `only this run says: ${line}`),
  ];
  if (inRows.length + others.length > 0 || now.join("\n") === then.join("\n"))
    return [...inRows, ...others];
  return ["the lines have another order"];
}

/** The first problem, for a log. */
export function reasonOf({ steps }: CellResult): string {
  const first = steps.find(({ problem }) => problem !== null);
  return `${first?.step}: ${first?.problem}`;
}

function shortName(model: string): string {
  return model.slice(model.lastIndexOf("/") + 1);
}

function table(head: readonly string[], rows: readonly string[]): string {
  return `| ${head.join(" | ")} |\n|${"---|".repeat(head.length)}\n${rows.join("\n")}\n`;
}

const limitSteps: readonly Step[] = ["abort", "busy", "day"];

function limitCells(client: Client, results: readonly CellResult[]): readonly string[] {
  return limitSteps.map((step) => {
    if (!client.steps.includes(step)) return "–";
    const tried = results.flatMap(({ steps }) => steps.filter((each) => each.step === step));
    return tried.every(({ problem }) => problem === null) ? "✓" : "✗";
  });
}

/** What is wrong, each once, with the cells that it is wrong with. */
function notes(clients: readonly Client[], results: readonly CellResult[]): string {
  const byReason = new Map<string, Map<string, string[]>>();
  for (const cell of results) {
    const verdict = verdictOf(cell);
    if (verdict === "works" || verdict === "late") continue;
    const why = verdict === "not_yet" ? whyNotYet(cell) : whyWithoutSluice(cell);
    const reason = `${signs[verdict]}|${why ?? firstProblem(cell.steps)}`;
    const title = clients.find(({ id }) => id === cell.client)?.title ?? cell.client;
    const cells = byReason.get(reason) ?? new Map<string, string[]>();
    byReason.set(reason, cells);
    cells.set(cell.model, [...(cells.get(cell.model) ?? []), title]);
  }
  return [...byReason]
    .flatMap(([reason, cells]) =>
      [...cells].map(([model, titles]) => {
        const [sign, why] = reason.split(/\|([^]*)/);
        return `- ${sign} ${titles.join("; ")} with ${shortName(model)}: ${why}.`;
      }),
    )
    .sort()
    .map((line) => `${line}\n`)
    .join("");
}

/** Without the source, and without the place in the conversation. */
function firstProblem(steps: readonly StepResult[]): string {
  const [first] = steps.filter(({ problem }) => problem !== null);
  const problem = (first?.problem ?? "").replace(/ \[https?:.*$/, "").replace(/\[\d+\]/g, "[]");
  return `\`${problem.replace(/^the provider refuses it: /, "").replaceAll("`", "'")}\``;
}

function setUps(clients: readonly Client[]): readonly string[] {
  const byText = new Map<string, string[]>();
  for (const { setUp, title } of clients) byText.set(setUp, [...(byText.get(setUp) ?? []), title]);
  return [...byText].map(([text, titles]) => `\n### ${headingOf(titles)}\n\n${text}\n`);
}

/** Clients that are set up alike share a heading, without their versions and dialects. */
function headingOf(titles: readonly string[]): string {
  if (titles.length === 1) return titles[0]!;
  const names = new Set(titles.map((title) => title.replace(/ \d[\d.]*(?=,| \(|$)/, "")));
  const heads = new Set([...names].map((name) => name.split(", ")[0]!));
  return [...(names.size === 1 ? names : heads)].join("; ");
}
