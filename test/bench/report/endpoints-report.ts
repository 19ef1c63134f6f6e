/**
 * What `npm run heavy -- bench:endpoints` prints: medians, what Sluice adds, and the reach. Pure.
 */

import type { BuildsMeasures } from "../measure/measure-builds.js";
import { phaseName, type ScenarioMeasures } from "../measure/measure-endpoints.js";
import type { Phase } from "../measure/phase.js";
import type { Rounds } from "../measure/rounds.js";
import { type BuildsReport, buildBuildsReport, formatBuilds } from "./builds-report.js";
import type { PeerKind, Scenario } from "./endpoint-scenarios.js";
import { formatHead } from "./format-report.js";
import { type Head, judge, median, type Ratio, type Reach, ratio, row, spread } from "./report.js";
import { formatTable, micro, milli, ratioCells, whole } from "./table.js";

/** One peer at one endpoint. Microseconds, medians over the rounds. */
export interface EndpointRow {
  readonly scenario: string;
  readonly peer: PeerKind;
  /** One client: until the first byte of the answer's body, and until its last. */
  readonly firstUs: number;
  readonly wholeUs: number;
  /** The same, less what the provider takes when it is asked directly. */
  readonly addedFirstUs: number;
  readonly addedWholeUs: number;
  /** Under load; null for the provider itself. */
  readonly perSecond: number | null;
  readonly cpuUs: number | null;
  readonly daemonUs: number | null;
  readonly errors: number;
}

/** Sluice under load, as it does more; each to the first of them. */
export interface CompareRow {
  readonly name: string;
  readonly perSecond: number;
  readonly cpuUs: number;
  readonly daemonUs: number;
  readonly toFirst: Ratio | null;
  readonly errors: number;
}

export interface EndpointsReport {
  readonly head: Head;
  readonly endpoints: readonly EndpointRow[];
  readonly growing: readonly CompareRow[];
  readonly builds: BuildsReport | null;
  /** By scenario, why it wasn't measured. */
  readonly skipped: Readonly<Record<string, string>>;
  readonly ratios: readonly Ratio[];
  readonly reach: readonly Reach[];
  readonly complaints: readonly string[];
}

export interface EndpointsMeasures {
  readonly scenarios: readonly ScenarioMeasures[];
  readonly growing: Rounds | null;
  readonly builds: BuildsMeasures | null;
}

export function buildEndpointsReport(head: Head, measures: EndpointsMeasures): EndpointsReport {
  const { scenarios } = measures;
  const measured = scenarios.filter(({ rounds }) => Object.keys(rounds.phases).length > 0);
  const endpoints = measured.flatMap(({ scenario, rounds }) =>
    scenario.peers.map((peer) => endpointRow(scenario, peer, rounds.phases)),
  );
  const growing = measures.growing === null ? [] : compareRows(measures.growing);
  const builds = measures.builds === null ? null : buildBuildsReport(measures.builds);
  const added = measured.map(({ scenario, rounds }) => ({
    scenario,
    ratio: addedFirst(scenario, rounds.phases),
  }));
  const lines = [
    ...endpoints.map(({ scenario, peer, errors }) => ({
      name: `${scenario}, ${peerLabels[peer]}`,
      errors,
    })),
    ...growing,
    ...(builds === null ? [] : builds.rows),
  ];
  return {
    head,
    endpoints,
    growing,
    builds,
    skipped: Object.assign({}, ...scenarios.map(({ rounds }) => rounds.skipped)) as Record<
      string,
      string
    >,
    ratios: [...measured.flatMap(cpuRatios), ...added.map((each) => each.ratio)].filter(
      (value) => value !== null,
    ),
    reach: added.map(({ scenario, ratio }) => ({
      claim: `${scenario.label}: the first byte comes at most 1 ms later than from the provider itself`,
      isMet: judge(ratio, (ms) => ms <= 1),
    })),
    complaints: lines
      .filter(({ errors }) => errors > 0)
      .map(({ name, errors }) => `${name}: ${errors} failed`),
  };
}

type Phases = Rounds["phases"];

function endpointRow({ label }: Scenario, peer: PeerKind, phases: Phases): EndpointRow {
  const direct = phases[phaseName("direct", "alone")]!;
  const alone = phases[phaseName(peer, "alone")]!;
  const loaded = phases[phaseName(peer, "loaded")];
  const under = loaded === undefined ? null : row(["", loaded]);
  return {
    scenario: label,
    peer,
    firstUs: median(alone.map((phase) => phase.firstP50Us)),
    wholeUs: median(alone.map((phase) => phase.p50Us)),
    addedFirstUs: median(differences(alone, direct, (phase) => phase.firstP50Us)),
    addedWholeUs: median(differences(alone, direct, (phase) => phase.p50Us)),
    perSecond: under === null ? null : under.perSecond,
    cpuUs: under === null ? null : under.cpuUs,
    daemonUs: under === null ? null : under.besideCpuUs,
    errors: row(["", alone]).errors + (under === null ? 0 : under.errors),
  };
}

/** Within each round. */
function differences(
  ours: readonly Phase[],
  theirs: readonly Phase[],
  pick: (phase: Phase) => number,
): number[] {
  return ours.map((phase, round) => pick(phase) - pick(theirs[round]!));
}

function addedFirst({ label }: Scenario, phases: Phases): Ratio | null {
  const ms = differences(
    phases[phaseName("sluice", "alone")]!,
    phases[phaseName("direct", "alone")]!,
    (phase) => phase.firstP50Us / 1000,
  );
  return spread(`${label}: first byte, Sluice − provider`, ms, "ms");
}

function cpuRatios({ scenario, rounds: { phases } }: ScenarioMeasures): (Ratio | null)[] {
  return scenario.peers
    .filter((peer) => peer !== "direct" && peer !== "sluice")
    .map((peer) =>
      ratio(
        `${scenario.label}: Sluice CPU ÷ ${peerLabels[peer]} CPU`,
        phases[phaseName("sluice", "loaded")],
        phases[phaseName(peer, "loaded")],
        (phase) => phase.cpuUs,
      ),
    );
}

function compareRows({ phases }: Rounds): CompareRow[] {
  const [first = []] = Object.values(phases);
  return Object.entries(phases).map(([name, own]) => {
    const { perSecond, cpuUs, besideCpuUs, errors } = row([name, own]);
    return {
      name,
      perSecond,
      cpuUs,
      daemonUs: besideCpuUs,
      errors,
      toFirst: own === first ? null : ratio("", own, first, (phase) => phase.cpuUs),
    };
  });
}

const peerLabels: Readonly<Record<PeerKind, string>> = {
  direct: "provider",
  undici: "undici forwarder",
  "http-proxy": "http-proxy forwarder",
  sluice: "Sluice",
};

export function formatEndpointsReport(report: EndpointsReport): string {
  const sections = [
    formatHead(report),
    report.complaints.length > 0
      ? ["!!! THIS RUN ISN'T SOUND", ...report.complaints.map((line) => `!!! ${line}`)]
      : [],
    report.endpoints.length > 0
      ? [
          `Endpoints: latency of one client, then ${report.head.connections} connections`,
          ...formatTable(endpointHead, report.endpoints.map(endpointCells)),
        ]
      : [],
    Object.entries(report.skipped).map(([name, reason]) => `not measured: ${name} (${reason})`),
    report.growing.length > 0
      ? [
          "One chat completion, as more is asked of Sluice",
          ...formatTable(compareHead, report.growing.map(compareCells)),
        ]
      : [],
    report.builds === null ? [] : formatBuilds(report.builds),
    report.ratios.length > 0
      ? [
          "Within the rounds, median [lowest – highest]",
          ...formatTable(null, report.ratios.map(ratioCells)),
        ]
      : [],
    report.reach.length > 0
      ? [
          "Reach",
          ...formatTable(
            null,
            report.reach.map(({ claim, isMet }) => [claim, isMet === true ? "met" : "NOT MET"]),
          ),
        ]
      : [],
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n");
}

const endpointHead = [
  "",
  "first ms",
  "added",
  "whole ms",
  "added",
  "req/s",
  "CPU µs/req",
  "daemon µs/req",
  "errors",
];

function endpointCells({
  scenario,
  peer,
  firstUs,
  addedFirstUs,
  wholeUs,
  addedWholeUs,
  perSecond,
  cpuUs,
  daemonUs,
  errors,
}: EndpointRow): string[] {
  const isDirect = peer === "direct";
  return [
    `${scenario}, ${peerLabels[peer]}`,
    milli(firstUs),
    isDirect ? "" : milli(addedFirstUs),
    milli(wholeUs),
    isDirect ? "" : milli(addedWholeUs),
    perSecond === null ? "" : whole(perSecond),
    cpuUs === null ? "" : micro(cpuUs),
    daemonUs === null || daemonUs === 0 ? "" : micro(daemonUs),
    String(errors),
  ];
}

const compareHead = ["", "req/s", "CPU µs/req", "daemon µs/req", "CPU ÷ the first", "errors"];

function compareCells({ name, perSecond, cpuUs, daemonUs, toFirst, errors }: CompareRow): string[] {
  return [
    name,
    whole(perSecond),
    micro(cpuUs),
    micro(daemonUs),
    toFirst === null ? "" : ratioCells(toFirst).slice(1).join(" "),
    String(errors),
  ];
}
