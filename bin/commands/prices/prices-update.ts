/**
 * `sluice prices update`: writes the price list of `price_list_file` from a newer one: a list of a
 * later release, or LiteLLM's map of models as it is published. The whole list is checked before
 * the file is replaced, and a list that is likely wrong needs `--force`.
 */
import { lookup } from "node:dns/promises";
import { copyFile, readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { packageName } from "../../../proxy/prices/genai-prices.js";
import {
  isPriceMap,
  litellmMapUrl,
  makePriceFile,
  mapProblems,
  printPriceFile,
} from "../../../proxy/prices/litellm-prices.js";
import { createPriceList, readPriceFile } from "../../../proxy/prices/price-list.js";
import {
  checkPriceFile,
  comparePriceFiles,
  emptyPriceFile,
  futureProblem,
  type PriceFile,
  type PriceFileDifference,
  priceFileBytesMax,
} from "../../../proxy/prices/prices-json.js";
import { isPrivateAddress, parseIpAddress } from "../../../shared/config/ip-network.js";
import { isLoopback } from "../../../shared/config/open-gateway.js";
import { systemReason } from "../../../shared/text/system-reason.js";
import { dayOf } from "../../../shared/time.js";
import { CommandFailure, usageFailure } from "../../session/command-failure.js";
import type { CommandFlags } from "../../session/command-flags.js";
import { requireConfiguration } from "../../session/configuration.js";
import { exitCodes } from "../../session/exit-code.js";
import type { Session } from "../../session/terminal.js";
import { beginExportFile } from "../../usage/export-file.js";

interface UpdateFlags extends CommandFlags {
  readonly force?: boolean;
}

const downloadMaxMs = 60_000;
const problemsShown = 10;

/** Adds `prices` to the program. */
export function addPrices(program: Command, session: Session): void {
  program
    .command("prices")
    .description("update the price list")
    .command("update")
    .description("write price_list_file from a newer list, checked; reload to use it")
    .argument(
      "[source]",
      `a file or an https URL with docs/prices.json of a release or LiteLLM's map (default: ${litellmMapUrl})`,
    )
    .option("--force", "accept a list that is older or has prices that are likely wrong")
    .action((source: string | undefined, _options, command: Command) =>
      updatePrices(session, source ?? litellmMapUrl, command.optsWithGlobals<UpdateFlags>()),
    );
}

async function updatePrices(session: Session, source: string, flags: UpdateFlags): Promise<void> {
  const { terminal } = session;
  const path = requireConfiguration(session, flags, terminal.err).priceListFile;
  if (path === null)
    throw usageFailure([
      {
        message: "price_list_file isn't set: it says which file to write",
        param: "price_list_file",
      },
    ]);
  const [shipped, current] = await Promise.all([readPriceFile(null), currentList(path)]);
  const next = await readSource(session, source).catch((error: unknown) => {
    throw updateFailure(`${source}: ${reasonOf(error)}`);
  });
  const problem = futureProblem(next.date, session.nowMs());
  if (problem !== null) throw updateFailure(`${source} ${problem}`);
  if (next.date < shipped.file.date)
    throw updateFailure(
      `${source} is of ${next.date}: the built-in list of ${shipped.file.date} is newer and stays in force`,
    );
  const difference = comparePriceFiles(current, next);
  if (flags.force !== true && difference.doubts.length > 0)
    throw doubtfulFailure(source, difference);
  await replace(path, printPriceFile(next)).catch((error: unknown) => {
    throw updateFailure(`${path} can't be written: ${reasonOf(error)}; it is unchanged`);
  });
  const { models, added, changed, gone } = difference;
  terminal.out(
    `written: ${path}, of ${next.date}: ${models} models (${added} new, ${changed} changed, ${gone} gone); sluice reload puts it in force`,
  );
}

/** The list at the path, to compare the new one with; the built-in list if it can't be read. */
async function currentList(path: string): Promise<PriceFile> {
  const current = await readPriceFile(path).catch(() => readPriceFile(null));
  return current.file;
}

async function readSource(session: Session, source: string): Promise<PriceFile> {
  const text = /^https?:/i.test(source)
    ? await download(source)
    : await readBounded(resolve(session.cwd, source));
  const document: unknown = JSON.parse(text);
  if (!isPriceMap(document)) return checkPriceFile(document);
  const problems = mapProblems(document);
  if (problems.length > 0) throw new Error(problems.slice(0, problemsShown).join("; "));
  const date = dayOf(session.nowMs());
  const priceFile = makePriceFile({
    map: document,
    date,
    lists: [`LiteLLM's map as of ${date} (MIT)`, packageName],
    // Falls back to the packaged list, not to the file in force, whose mistakes would stay forever.
    fallback: await createPriceList({ file: emptyPriceFile, from: "" }),
  });
  // Checked like any price file that is read.
  return checkPriceFile(JSON.parse(printPriceFile(priceFile)));
}

async function readBounded(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > priceFileBytesMax) throw tooLarge();
  return readFile(path, "utf8");
}

async function download(source: string): Promise<string> {
  const signal = AbortSignal.timeout(downloadMaxMs);
  try {
    const response = await follow(new URL(source), signal);
    if (!response.ok) throw new Error(`the answer is ${response.status}`);
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of response.body ?? []) {
      bytes += piece.length;
      if (bytes > priceFileBytesMax) throw tooLarge();
      pieces.push(piece);
    }
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces));
  } catch (error) {
    if (signal.aborted) throw new Error(`it took longer than ${downloadMaxMs / 1000} s`);
    throw error;
  }
}

const redirectsMax = 5;

/**
 * Follows redirects one by one, so that each address is checked before it is asked: a public server
 * must not lead into a private network.
 */
async function follow(first: URL, signal: AbortSignal): Promise<Response> {
  requireHttps(first, first);
  const startsPrivate = arePrivate(await addressesOf(first));
  let url = first;
  for (let redirects = 0; redirects <= redirectsMax; redirects++) {
    const response = await fetch(url, { signal, redirect: "manual" });
    const location = response.headers.get("location");
    if (response.status < 300 || response.status >= 400 || location === null) return response;
    await response.body?.cancel();
    url = new URL(location, url);
    requireHttps(first, url);
    if (!startsPrivate && arePrivate(await addressesOf(url)))
      throw new Error(`it redirects into a private network: ${url}`);
  }
  throw new Error(`it redirects more than ${redirectsMax} times`);
}

/** Prices decide what is paid: they come over TLS, or from this machine. */
export function requireHttps(first: URL, { protocol, hostname }: URL): void {
  const isClear = protocol === "http:" && first.protocol === "http:" && isLoopback(hostname);
  if (protocol !== "https:" && !isClear) throw new Error("the URL must be https");
}

async function addressesOf({ hostname }: URL): Promise<readonly string[]> {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  if (parseIpAddress(host) !== null) return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

export function arePrivate(addresses: readonly string[]): boolean {
  return addresses.some((text) => {
    const address = parseIpAddress(text);
    return address === null || isPrivateAddress(address);
  });
}

function tooLarge(): Error {
  return new Error(`it has more than ${priceFileBytesMax / 1024 / 1024} MiB`);
}

/** Replaces the file at the path, and keeps the old one beside it. */
async function replace(path: string, text: string): Promise<void> {
  const file = await beginExportFile(path, 0o644);
  try {
    await file.write(text);
    await file.finish(() => copyFile(path, `${path}.previous`).catch(ignoreAbsent));
  } catch (error) {
    await file.abandon().catch(() => {
      // The first error says why.
    });
    throw error;
  }
}

function ignoreAbsent(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}

function doubtfulFailure(source: string, { doubts }: PriceFileDifference): CommandFailure {
  const more = doubts.length - problemsShown;
  return updateFailure(`${source} is likely wrong, and nothing was changed; --force accepts it`, [
    ...doubts.slice(0, problemsShown),
    ...(more > 0 ? [`and ${more} more`] : []),
  ]);
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${systemReason(cause)}` : systemReason(error);
}

function updateFailure(message: string, details: readonly string[] = []): CommandFailure {
  return new CommandFailure({
    exitCode: exitCodes.failed,
    lines: [`error: ${message}`, ...details.map((detail) => `  ${detail}`)],
    error: { message, details },
  });
}
