/**
 * The bounds on docs/reference/bounds.md: those without a setting that callers or operators can
 * meet, and whose error doesn't say so. The values are the code's, where their reasons are, too.
 */

import { parkedMax, sharesMax } from "../../limiterd/bounds.js";
import { unauthenticatedValuesMax } from "../../proxy/body/count-values.js";
import {
  decodedFreelyBytes,
  decodedRatioMax,
  keyTextBytesMax,
  refusedPartsMax,
  repeatedRequestsMax,
  watchersMax,
} from "../../proxy/bounds.js";
import { runningPerCallerMax } from "../../proxy/capacity/unlimited-requests.js";
import { lanesMax, runningMax, waitingMax } from "../../proxy/handlers/responses-socket.js";
import { linesPerFileMax, namesPerFileMax } from "../../proxy/objects/batch-input.js";
import { requestsPerBatchMax } from "../../proxy/objects/batch-requests.js";
import * as bounds from "../../shared/bounds.js";
import * as credentials from "../../shared/bounds.js";
import * as sessions from "../../shared/wire/dashboard-session.js";
import { markdown } from "../support/markdown-table.js";

type Row = readonly [bound: string, value: string, beyond: string];

const count = (value: number): string => value.toLocaleString("en-US");
const kib = (value: number): string => `${count(value / 1024)} KiB`;
const mib = (value: number): string => kib(value / 1024).replace("KiB", "MiB");
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
];

const answers: readonly Row[] = [
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
];

const connections: readonly Row[] = [
  ["connection without a request", "75 s", "closed"],
  ["connections waiting for accept", "4,096, or `net.core.somaxconn`", "the kernel drops them"],
  [
    "a caller's concurrent calls to files, batches, stored responses, `count_tokens`",
    count(runningPerCallerMax.files),
    "503 `overloaded`",
  ],
  ["a caller's concurrent `/admin` calls", count(runningPerCallerMax.budgets), "503 `overloaded`"],
  [
    "a caller's concurrent `/admin/limits` calls",
    count(runningPerCallerMax.limits),
    "503 `overloaded`",
  ],
  [
    "a caller's concurrent model lists and usage reports",
    count(runningPerCallerMax.usage),
    "503 `overloaded`",
  ],
  [
    "a caller's WebSockets for responses",
    count(runningPerCallerMax.responses_socket),
    "503 `overloaded`",
  ],
  [
    "a caller's streams of MCP notifications, and messages that no rule counts",
    count(runningPerCallerMax.mcp_session),
    "503 `overloaded`",
  ],
  ["`stream_id`s of a WebSocket", count(lanesMax), "400 `websocket_stream_limit_reached`"],
  ["running requests of a WebSocket", count(runningMax), "they wait"],
  ["waiting requests of a WebSocket", count(waitingMax), "503 `overloaded`"],
  ["a caller's concurrent scrapes", count(runningPerCallerMax.metrics), "503 `overloaded`"],
  ["live streams of the dashboard", `${watchersMax} a proxy`, "503 `overloaded`"],
];

const keys: readonly Row[] = [
  ["managed keys, deleted ones included", count(credentials.keysMax), "400"],
  ["denied JWTs", count(credentials.deniedJwtsMax), "400"],
  ["key set of an issuer", mib(credentials.keySetBytesMax), "the old keys stay; without any, 503"],
  ["dashboard sessions", count(sessions.sessionsMax), "the longest idle one ends"],
  ["dashboard sessions of a key", count(sessions.sessionsPerHolderMax), "the oldest one ends"],
];

const limits: readonly Row[] = [
  ["children of a template", count(bounds.childrenPerTemplateMax), "429 for further children"],
  ["idle child of a template", "two periods, up to a minute more", "forgotten"],
];

const usage: readonly Row[] = [
  ["rows of a usage report", count(bounds.usageGroupsMax), "the rest is `other`"],
  ["groups of a usage report over time", count(bounds.seriesGroupsMax), "the rest is `other`"],
  ["models of a path and day", count(bounds.modelsPerDayMax), "the rest is `other`"],
  ["unlisted models of a provider, proxy and day", count(bounds.unlistedModelsMax), "`(unknown)`"],
  [
    "usage record that arrives late",
    days(bounds.recordLatenessMs),
    "counts for the day 7 days ago",
  ],
  ["sum of costs", "9 billion USD", "the sum stays there, and counts in `saturated_sums`"],
];

const stored: readonly Row[] = [
  ["lines of a batch file", count(linesPerFileMax), "400"],
  ["ids in a batch file", count(namesPerFileMax), "400"],
  ["requests in a message batch", count(requestsPerBatchMax), "400"],
  ["pages of a provider's list for one answer", "20", "the list ends"],
];

const daemon: readonly Row[] = [
  ["connections to each socket", count(bounds.peersMax), "not accepted"],
  ["requests in flight of a proxy", count(bounds.leasesPerPeerMax), "503 `overloaded`"],
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
];

const hosts: readonly Row[] = [
  ["requests waiting for the engine", count(parkedMax), "503 `overloaded`"],
  ["counters of children in use on a host", count(sharesMax), "refused for a second"],
];

/** By the names of their tables on the page. */
export const boundTables: Readonly<Record<string, () => string>> = Object.fromEntries(
  Object.entries({
    requests,
    answers,
    connections,
    keys,
    limits,
    usage,
    stored,
    daemon,
    hosts,
  }).map(([name, rows]) => [name, () => markdown(["bound", "value", "beyond it"], rows)]),
);
