/** `sluice limits export`: writes what exists as a file for `sluice limits apply`. */
import type { Command } from "commander";
import type { Checked } from "../../../shared/checked.js";
import type { Failure } from "../../../shared/error-code.js";
import { denialEntry, keyEntry } from "../../../shared/limit-files/credential-entry.js";
import { budgetEntry, ruleEntry } from "../../../shared/limit-files/limit-entry.js";
import {
  budgetLists,
  denialLists,
  isSwitchedOff,
  keyLists,
  readLimits,
  ruleLists,
} from "../../../shared/limit-files/read-limits.js";
import { writeLimitsFile } from "../../../shared/limit-files/write-limits-file.js";
import { append } from "../../../shared/long-lists.js";
import { refusal } from "../../session/command-failure.js";
import { type CommandFlags, jsonOption } from "../../session/command-flags.js";
import type { Session } from "../../session/terminal.js";
import { withDaemon } from "../../session/with-daemon.js";

type ExportFlags = CommandFlags & { readonly all?: boolean; readonly keys?: boolean };

/** Adds `export` to `limits`. */
export function addLimitsExport(parent: Command, session: Session): void {
  parent
    .command("export")
    .description("print the rules and budgets that were made by hand, as a file for limits apply")
    .option("--all", "include those of the configuration")
    .option("--keys", "include the hashes of managed keys, and denied JWTs")
    .addOption(jsonOption("print the response of GET /admin/limits"))
    .action((_options, command: Command) =>
      exportLimits(session, command.optsWithGlobals<ExportFlags>()),
    );
}

async function exportLimits(session: Session, flags: ExportFlags): Promise<void> {
  const { terminal } = session;
  const { rules, budgets, keys, denials } = await withDaemon(session, flags, async (client) => {
    const reading = { call: client.call, all: flags.all === true };
    const rules = await allOf(readLimits(ruleLists, reading));
    const budgets = await allOf(readLimits(budgetLists, reading));
    const isWanted = flags.keys === true;
    if (!rules.ok && !budgets.ok && !isWanted) throw refusal(rules.failure);
    return {
      rules: rules.ok ? rules.value : null,
      budgets: budgets.ok ? budgets.value : null,
      keys: isWanted ? await everyOne(readLimits(keyLists, reading)) : null,
      denials: isWanted ? await everyOne(readLimits(denialLists, reading)) : null,
    };
  });
  if (rules === null) terminal.err("note: rate limits are disabled: the file has none");
  if (budgets === null) terminal.err("note: budgets are disabled: the file has none");
  if (flags.json === true)
    return terminal.out(
      JSON.stringify({
        ...(rules === null ? {} : { rate_limits: rules.map(ruleEntry) }),
        ...(budgets === null ? {} : { budgets: budgets.map(budgetEntry) }),
        ...(keys === null ? {} : { keys: keys.map(keyEntry) }),
        ...(denials === null ? {} : { denied_jwts: denials.map(denialEntry) }),
      }),
    );
  await terminal.write(writeLimitsFile({ rules, budgets, keys, denials }));
}

async function everyOne<D>(pages: AsyncIterable<Checked<readonly D[]>>): Promise<readonly D[]> {
  const items = await allOf(pages);
  if (!items.ok) throw refusal(items.failure);
  return items.value;
}

/** All rules or budgets, or that the configuration switches them off. Throws any other failure. */
async function allOf<D>(
  pages: AsyncIterable<Checked<readonly D[]>>,
): Promise<
  | { readonly ok: true; readonly value: readonly D[] }
  | { readonly ok: false; readonly failure: Failure }
> {
  const all: D[] = [];
  for await (const page of pages) {
    if (page.ok) append(all, page.value);
    else if (isSwitchedOff(page.failure)) return page;
    else throw refusal(page.failure);
  }
  return { ok: true, value: all };
}
