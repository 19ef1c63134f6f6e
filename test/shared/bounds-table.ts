/**
 * The bounds on docs/reference/bounds.md: those without a setting that callers or operators can
 * meet, and whose error doesn't say so. The values are the code's, where their reasons are, too.
 */

import { sharesMax } from "../../limiterd/bounds.js";
import { unauthenticatedValuesMax } from "../../proxy/body/count-values.js";
import {
  decodedFreelyBytes,
  decodedRatioMax,
  keyTextBytesMax,
  refusedPartsMax,
  repeatedRequestsMax,
} from "../../proxy/bounds.js";
import { runningMax } from "../../proxy/handlers/responses-socket.js";
import * as bounds from "../../shared/bounds.js";
import * as credentials from "../../shared/bounds.js";
import * as sessions from "../../shared/wire/dashboard-session.js";

type Row = readonly [bound: string, value: string, beyond: string];

const count = (value: number): string => value.toLocaleString("en-US");
const kib = (value: number): string => `${count(value / 1024)} KiB`;
const mib = (value: number): string => kib(value / 1024).replace("KiB", "MiB");
const seconds = (ms: number): string => `${ms / 1000} s`;
const days = (ms: number): string => `${ms / 86_400_000} days`;

const requests: readonly Row[] = [
  [
    "expansion of a compressed body",
    `${decodedRatioMax}-fold beyond ${mib(decodedFreelyBytes)}`,
    "413",
  ],
  ["time to receive a request's head", "30 s", "408"],
  ["time to receive a body", "5 min", "408"],
  [
    "body read before its key is checked",
    kib(credentials.unauthorizedBodyBytesMax),
    "Sluice checks the key first",
  ],
  [
    "JSON values read before the key is checked",
    count(unauthenticatedValuesMax),
    "Sluice checks the key first",
  ],
  [
    "passthrough body searched for its model",
    mib(bounds.peekedBodyBytesMax),
    "the request has no model",
  ],
  [
    "upload held until its model is known",
    kib(bounds.heldUploadBytesMax),
    "the rest waits on disk",
  ],
  [
    "tokens of a response, input or output",
    count(bounds.tokensPerResponseMax),
    "ignored; Sluice charges an estimate",
  ],
  [
    "parts that a target refuses and Sluice removes",
    count(refusedPartsMax),
    "the client gets its error",
  ],
  [
    "requests of agents remembered for [loops](../loops.md)",
    count(repeatedRequestsMax),
    "the least recent is forgotten",
  ],
  ["provider key from a file or command", kib(keyTextBytesMax), "the last key stays"],
  ["pages of a provider's list for one answer", "20", "the list ends"],
];

const connections: readonly Row[] = [
  ["connection without a request", "75 s", "closed"],
  ["connections waiting for accept", "4,096, or `net.core.somaxconn`", "the kernel drops them"],
  ["running requests of a WebSocket", count(runningMax), "they wait"],
  [
    "stream that a provider leaves open after the dialect's last event",
    seconds(bounds.bodyEndGraceMs),
    "the answer has ended at once; Sluice closes the provider's connection",
  ],
  [
    "stream that a provider leaves open after a finish reason",
    seconds(bounds.streamEndGraceMs),
    "the answer ends, with the usage so far",
  ],
];

const keys: readonly Row[] = [
  ["key set of an issuer", mib(credentials.keySetBytesMax), "the old keys stay; without any, 503"],
  ["dashboard sessions", count(sessions.sessionsMax), "the longest idle one ends"],
  ["dashboard sessions of a key", count(sessions.sessionsPerHolderMax), "the oldest one ends"],
];

const usage: readonly Row[] = [
  ["rows of a usage report", count(bounds.usageGroupsMax), "the rest is `other`"],
  ["groups of a usage report over time", count(bounds.seriesGroupsMax), "the rest is `other`"],
  ["models of a path and day", count(bounds.modelsPerDayMax), "the rest is `other`"],
  ["unlisted models of a provider, proxy and day", count(bounds.unlistedModelsMax), "`(unknown)`"],
  [
    "delay of a usage record",
    days(bounds.recordLatenessMs),
    "it counts for the day 7 days before it arrives",
  ],
  ["sum of costs", "9 billion USD", "the sum stays there, and counts in `saturated_sums`"],
  ["children of a template", count(bounds.childrenPerTemplateMax), "429 for further children"],
  ["idle child of a template", "two periods, up to a minute more", "forgotten"],
];

const daemon: readonly Row[] = [
  ["connections to each socket", count(bounds.peersMax), "not accepted"],
  ["admissions waiting in a proxy", count(bounds.admissionsWaitingMax), "`failure_mode` applies"],
  ["settles that a proxy keeps", count(bounds.settleOutboxMax), "the proxy drops the oldest"],
  [
    "settles of stopped proxies, on disk",
    mib(bounds.spoolBytesMax),
    "the stopping proxy drops its last ones",
  ],
  [
    "time for which the settles of a silent proxy are remembered",
    days(bounds.settledRetentionMs),
    "a repeated settle counts again",
  ],
  [
    "settles waiting for a failing store",
    count(bounds.journalEntriesMax),
    "the daemon counts them in memory only",
  ],
  ["changes waiting for a failing store", count(bounds.changesWaitingMax), "503"],
  ["counters of children in use on a host", count(sharesMax), "refused for a second"],
];

/** By the names of their tables on the page. */
export const boundTables: Readonly<Record<string, () => string>> = Object.fromEntries(
  Object.entries({ requests, connections, keys, usage, daemon }).map(([name, rows]) => [
    name,
    () => rows.map(([bound, value, beyond]) => `- ${bound}: ${value}; then ${beyond}\n`).join(""),
  ]),
);
