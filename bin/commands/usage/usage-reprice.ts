/** `sluice usage reprice`: corrects the costs of recorded requests to the current prices. */
import { loadPriceList } from "../../../proxy/prices/price-list.js";
import { createTargetPrices, needsPriceList } from "../../../proxy/prices/target-prices.js";
import { repriceUsage } from "../../../proxy/usage/reprice-usage.js";
import type { RepricedModel, RepricePage } from "../../../shared/api/reprice-page.js";
import type { Checked } from "../../../shared/checked.js";
import { greatest } from "../../../shared/long-lists.js";
import type { AdminOp, DaemonAnswer } from "../../../shared/wire/admin-op.js";
import { type ArgumentProblem, usageFailure } from "../../session/command-failure.js";
import type { CommandFlags } from "../../session/command-flags.js";
import { requireConfiguration } from "../../session/configuration.js";
import { bodyOrThrow } from "../../session/daemon-answer.js";
import { type Session, showsUnicode } from "../../session/terminal.js";
import { type AdminClient, withDaemon } from "../../session/with-daemon.js";
import { formatCount, formatUsd, usdDecimals } from "../../text/number-text.js";
import { type Column, renderTable } from "../../text/table.js";
import { createProgressLine } from "../../usage/progress-line.js";
import { openWindowFromFlags, type WindowFlags } from "../../usage/window-flags.js";

export interface RepriceFlags extends CommandFlags, WindowFlags {
  readonly model?: string;
  readonly dryRun?: boolean;
  readonly reported?: boolean;
}

type AskPage = (body: unknown) => Promise<Checked<unknown>>;

interface Total
  extends Pick<RepricePage, "differing" | "booked" | "unpriced" | "kept" | "price_list"> {
  readonly models: readonly RepricedModel[];
}

/** Prints the differences by model; a failure says that repeating the command continues. */
export async function repriceUsageCommand(session: Session, flags: RepriceFlags): Promise<void> {
  const question = checkFlags(flags, session.nowMs());
  const { terminal } = session;
  const total = await withDaemon(session, flags, async (client) =>
    repriceAll(session, await pageReader(session, flags, client), question),
  );
  if (flags.json === true) return terminal.out(JSON.stringify(total));
  if (total.models.length > 0) terminal.out(renderDifferences(total.models));
  terminal.out(summaryOf(total, flags.dryRun === true));
}

function checkFlags(flags: RepriceFlags, nowMs: number): Readonly<Record<string, unknown>> {
  const window = openWindowFromFlags(flags, nowMs);
  const problems: ArgumentProblem[] = window.ok ? [] : [...window.problems];
  if (flags.from === undefined) problems.push({ message: "--from is required", param: "--from" });
  if ((flags.days ?? flags.month ?? flags.last) !== undefined)
    problems.push({ message: "the days to reprice are those of --from and --to", param: "--from" });
  if (!window.ok || problems.length > 0) throw usageFailure(problems);
  return {
    start_date: window.value.startDate,
    end_date: window.value.endDate,
    model: flags.model ?? null,
    dry_run: flags.dryRun === true,
    reported: flags.reported === true,
  };
}

/** A remote gateway uses its own prices; on this host, those of this configuration are used. */
async function pageReader(
  session: Session,
  flags: RepriceFlags,
  { call, remote }: AdminClient,
): Promise<AskPage> {
  const checked = (answer: DaemonAnswer): Checked<unknown> =>
    answer.ok ? { ok: true, value: answer.body } : answer;
  if (remote !== null)
    return async (body) => checked(await remote.post("/admin/usage/reprice", body));
  const config = requireConfiguration(session, flags, session.terminal.err);
  const list = needsPriceList(config) ? await loadPriceList(config.priceListFile) : null;
  const ports = {
    call: async (op: AdminOp, body: unknown) => checked(await call(op, body)),
    pricesAt: (nowMs: () => number) => createTargetPrices(config, { list, nowMs }),
  };
  return (body) => repriceUsage(ports, body);
}

async function repriceAll(
  { terminal, monoMs, env }: Session,
  ask: AskPage,
  question: Readonly<Record<string, unknown>>,
): Promise<Total> {
  const models = new Map<string, RepricedModel>();
  const total = { differing: 0, booked: 0, unpriced: 0, kept: 0 };
  let priceList: string | null = null;
  const progress =
    terminal.showProgress === null
      ? null
      : createProgressLine({ draw: terminal.showProgress, monoMs, unicode: showsUnicode(env) });
  for (let after: string | null = null; ; ) {
    const answer: Checked<unknown> = await ask({ ...question, after });
    const page = bodyOrThrow(answer.ok ? { ok: true, body: answer.value } : answer) as RepricePage;
    total.differing += page.differing;
    total.booked += page.booked;
    total.unpriced += page.unpriced;
    total.kept += page.kept;
    priceList = page.price_list;
    for (const ofModel of page.models)
      models.set(ofModel.model, sumOfRepriced(models.get(ofModel.model), ofModel));
    progress?.show(page.progress, `${formatCount(total.differing)} differences`);
    if (page.next === null) break;
    after = page.next;
  }
  progress?.clear();
  return { ...total, price_list: priceList, models: [...models.values()].sort(byDifference) };
}

function sumOfRepriced(sum: RepricedModel | undefined, model: RepricedModel): RepricedModel {
  if (sum === undefined) return model;
  return {
    model: model.model,
    requests: sum.requests + model.requests,
    input_tokens: sum.input_tokens + model.input_tokens,
    output_tokens: sum.output_tokens + model.output_tokens,
    cost_before: sum.cost_before + model.cost_before,
    cost_after: sum.cost_after + model.cost_after,
  };
}

const differenceOf = ({ cost_before: before, cost_after: after }: RepricedModel) => after - before;

function byDifference(a: RepricedModel, b: RepricedModel): number {
  return Math.abs(differenceOf(b)) - Math.abs(differenceOf(a));
}

function renderDifferences(models: readonly RepricedModel[]): string {
  const decimals = usdDecimals(greatest(models.map(({ cost_after: after }) => after)));
  const column = (title: string, text: (row: RepricedModel) => string): Column<RepricedModel> => ({
    title,
    align: "right",
    text,
  });
  return renderTable<RepricedModel>(
    [
      { title: "MODEL", align: "left", text: ({ model }) => model },
      column("REQUESTS", ({ requests }) => formatCount(requests)),
      column("INPUT", ({ input_tokens: tokens }) => formatCount(tokens)),
      column("OUTPUT", ({ output_tokens: tokens }) => formatCount(tokens)),
      column("BEFORE", ({ cost_before: cost }) => formatUsd(cost, decimals)),
      column("AFTER", ({ cost_after: cost }) => formatUsd(cost, decimals)),
      column("DIFFERENCE", (row) => formatUsd(differenceOf(row), decimals)),
    ],
    models,
  );
}

function summaryOf(
  { differing, booked, unpriced, kept, price_list: list }: Total,
  dryRun: boolean,
): string {
  const records = (count: number) => `${formatCount(count)} ${count === 1 ? "record" : "records"}`;
  return [
    dryRun
      ? `${records(differing)} would have another cost; nothing was booked`
      : `booked: ${records(booked)}`,
    ...(!dryRun && booked < differing
      ? [`${records(differing - booked)} not booked, of background responses: repeat this later`]
      : []),
    ...(unpriced > 0 ? [`${records(unpriced)} still without a price`] : []),
    ...(kept > 0
      ? [`${records(kept)} unchanged, because their costs come from several prices`]
      : []),
    ...(list === null ? [] : [`price list of ${list}`]),
  ].join("; ");
}
